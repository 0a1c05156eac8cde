"""Input parts: numbers become vectors."""

import numpy as np
import reference
import torch
from sharp import assert_close, assert_moved, numpy, stir

from regard.attention import Mask
from regard.models.inputs import (
    PATTERN_WIDTHS,
    Affixes,
    Embedding,
    InputPart,
    LetterPatterns,
    PieceInput,
    ScaledEmbedding,
    WordCharacterInput,
    WordInput,
)

LETTERS = torch.tensor([[2, 3, 4, 5, 6, 7, 8], [9, 3, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0], [5, 0, 0, 0, 0, 0, 0]])
WORDS = [[number for number in word if number] for word in LETTERS.tolist()]


def patterns() -> LetterPatterns:
    torch.manual_seed(0)
    part = LetterPatterns(11, 5, 3).double()
    with torch.no_grad():  # so large a bias that what hangs over the end of a word or stands outside would be seen
        for bias in part.biases:
            bias.add_(0.5)
    return part


def test_letter_patterns_equal_the_reference():
    part = patterns()
    table = numpy(part.letters.weight)
    # (filters, width of the pattern · letter_width) -> (filters, letter_width, width of the pattern)
    kernels = [
        (numpy(weight.unflatten(1, (size, 5)).transpose(1, 2)), numpy(bias))
        for size, weight, bias in zip(PATTERN_WIDTHS, part.weights, part.biases, strict=True)
    ]
    wanted = [reference.letter_patterns([table[letter] for letter in word], kernels) for word in WORDS]
    found = part(LETTERS)
    assert found.shape == (4, part.width) and part.width == 3 * len(PATTERN_WIDTHS)
    for word, row in enumerate(wanted):
        assert_close(found[word], row, 1e-12, f"word {word}")


def test_padding_of_letters_changes_nothing():
    part = patterns()
    wanted = part(LETTERS)
    for more in (1, 2, 13):
        assert_close(part(torch.nn.functional.pad(LETTERS, (0, more))), wanted, 1e-12)
    for number, word in enumerate(WORDS):
        if word:
            assert_close(part(torch.tensor([word]))[0], wanted[number], 1e-12, f"word {number} alone")


def test_a_word_without_letters_gives_zeros_and_no_gradient():
    part = patterns()
    assert (part(LETTERS)[2] == 0).all()
    part(LETTERS[2:3]).sum().backward()
    assert all((parameter.grad == 0).all() for parameter in part.parameters())


def test_words_that_all_have_no_letters_give_zeros():
    assert (patterns()(LETTERS[:2, :0]) == 0).all()


def test_the_vector_of_padding_stays_zero_in_training():
    part = patterns()
    optimizer = torch.optim.SGD(part.parameters(), 1.0)
    part(LETTERS).square().sum().backward()
    optimizer.step()
    assert (part.letters.weight[0] == 0).all()
    embedding = Embedding(7, 5)
    embedding(torch.tensor([[0, 3]])).sum().backward()
    assert (embedding.table.weight[0] == 0).all() and (embedding.table.weight.grad[0] == 0).all()


def test_hidden_words_are_shown_as_the_unknown_and_padding_never():
    torch.manual_seed(0)
    part = Embedding(7, 5, dropout=0.5)
    numbers = torch.full((3, 101), 4)
    numbers[:, 50:] = 0
    found = part(numbers)
    unknown = (found == part.table.weight[1]).all(-1)
    known = (found == part.table.weight[4]).all(-1)
    assert (found[:, 50:] == 0).all()
    assert (unknown | known)[:, :50].all() and 0.3 < unknown[:, :50].float().mean() < 0.7
    part.eval()
    assert torch.equal(part(numbers), part.table(numbers))


def test_a_word_is_its_vector_projected_and_normalised():
    part = stir(WordInput(Embedding(7, 5), 5, 3)).eval()
    inputs = {"word_numbers": torch.tensor([[2, 4, 0]]), "lengths": torch.tensor([2])}
    projected = numpy(part.project(part.words.table.weight[inputs["word_numbers"]]))
    standard = (projected - projected.mean(-1, keepdims=True)) / np.sqrt(projected.var(-1, keepdims=True) + 1e-5)
    assert_close(part(inputs), standard * numpy(part.norm.scale) + numpy(part.norm.shift), 1e-4)
    assert part.mask(inputs).real_positions(3).tolist() == [[True, True, False]]


# Of each word of LETTERS the numbers of its beginning, end and shape; the third is padding.
AFFIXES = torch.tensor([[2, 3, 1], [4, 3, 2], [0, 0, 0], [1, 1, 2]])


def affixes() -> Affixes:
    torch.manual_seed(1)
    return Affixes(5, 3, 2)


def test_beginning_end_and_shape_stand_side_by_side_each_from_its_own_table():
    part = affixes()
    found = part(AFFIXES)
    assert found.shape == (4, part.width) == (4, 6)
    for word, numbers in enumerate(AFFIXES.tolist()):
        parts = [part.tables[place].table.weight[number] for place, number in enumerate(numbers)]
        assert torch.equal(found[word], torch.cat(parts))
    assert (found[2] == 0).all(), "padding has no beginning"
    assert_moved(part.tables[0].table.weight[1:], part.tables[1].table.weight[1:])


def test_a_word_its_letters_and_its_affixes_stand_side_by_side():
    part = WordCharacterInput(Embedding(7, 5), patterns().float(), affixes(), 5, 3).eval()
    inputs = {
        "word_numbers": torch.tensor([[2, 4, 0], [5, 2, 6]]),
        "lengths": torch.tensor([2, 3]),
        "letters": LETTERS,
        "affixes": AFFIXES,
        "spellings": torch.tensor([[0, 1, 2], [3, 0, 1]]),
    }
    features = part.features(inputs)
    spelled = torch.cat((part.letters(LETTERS), part.affixes(AFFIXES)), -1)
    assert features.shape == (2, 3, 5 + spelled.shape[-1]) and part(inputs).shape == (2, 3, 3)
    for item in range(2):
        for place in range(3):
            word, spelling = inputs["word_numbers"][item, place], inputs["spellings"][item, place]
            assert_close(features[item, place], torch.cat((part.words.table.weight[word], spelled[spelling])), 1e-6)


def test_a_piece_is_its_vector_times_the_root_of_its_width():
    part = PieceInput(ScaledEmbedding(11, 5))
    numbers = torch.tensor([[2, 3, 4, 5, 6], [7, 8, 0, 0, 0]])
    assert_close(part({"piece_numbers": numbers}), part.pieces.table.weight[numbers] * 5**0.5, 1e-6)


def test_what_is_real_is_what_the_lengths_say():
    part, inputs = InputPart(), {"lengths": torch.tensor([3, 2])}
    assert part.mask(inputs).picture(1, 3) == Mask.lengths(torch.tensor([3])).picture(1, 3)
