"""Input parts: numbers become vectors."""

import reference
import torch
from sharp import close, draw, moved, numpy, stir

from regard.attention import Mask
from regard.models.inputs import (
    PATTERN_WIDTHS,
    Embedding,
    InputPart,
    LetterPatterns,
    PieceInput,
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
        close(found[word], row, 1e-12, f"word {word}")


def test_padding_of_letters_changes_nothing():
    part = patterns()
    wanted = part(LETTERS)
    for more in (1, 2, 13):
        close(part(torch.nn.functional.pad(LETTERS, (0, more))), wanted, 1e-12)
    for number, word in enumerate(WORDS):
        if word:
            close(part(torch.tensor([word]))[0], wanted[number], 1e-12, f"word {number} alone")


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


def test_a_word_is_its_vector_projected():
    part = stir(WordInput(Embedding(7, 5), 5, 3)).eval()
    inputs = {"word_numbers": torch.tensor([[2, 4, 0]]), "lengths": torch.tensor([2])}
    close(part(inputs), part.project(part.words.table.weight[inputs["word_numbers"]]), 1e-6)
    assert part.mask(inputs).real_positions(3).tolist() == [[True, True, False]]
    assert part.answering(part(inputs), inputs).shape == (1, 3, 3)


def test_a_word_and_its_letters_stand_side_by_side():
    part = WordCharacterInput(Embedding(7, 5), patterns().float(), 5, 3).eval()
    inputs = {
        "word_numbers": torch.tensor([[2, 4, 0], [5, 2, 6]]),
        "lengths": torch.tensor([2, 3]),
        "letters": LETTERS,
        "spellings": torch.tensor([[0, 1, 2], [3, 0, 1]]),
    }
    features = part.features(inputs)
    spelled = part.letters(LETTERS)
    assert features.shape == (2, 3, 5 + spelled.shape[-1]) and part(inputs).shape == (2, 3, 3)
    for item in range(2):
        for place in range(3):
            word, spelling = inputs["word_numbers"][item, place], inputs["spellings"][item, place]
            close(features[item, place], torch.cat((part.words.table.weight[word], spelled[spelling])), 1e-6)


def test_a_words_answer_is_the_mean_of_its_pieces():
    part = PieceInput(Embedding(11, 5))
    inputs = {
        "piece_numbers": torch.tensor([[2, 3, 4, 5, 6], [7, 8, 0, 0, 0]]),
        "word_of_piece": torch.tensor([[0, 0, 1, 2, 2], [0, 1, 0, 0, 0]]),
        "lengths": torch.tensor([5, 2]),
        "words": torch.tensor([3, 2]),
    }
    x = draw(2, 5, 7, dtype=torch.float64)
    found = part.answering(x, inputs)
    assert found.shape == (2, 3, 7)
    wanted = [[x[0, :2].mean(0), x[0, 2], x[0, 3:].mean(0)], [x[1, 0], x[1, 1], torch.zeros(7)]]
    close(found, torch.stack([torch.stack(row) for row in wanted]), 1e-12)
    other = x.clone()
    other[1, 2:] = 9.0
    assert torch.equal(part.answering(other, inputs), found), "padding counted"
    other[1, 1] = 9.0
    moved(part.answering(other, inputs)[1, 1], found[1, 1])
    assert part(inputs).shape == (2, 5, 5)


def test_a_word_without_pieces_gives_zeros():
    inputs = {
        "word_of_piece": torch.tensor([[0, 2]]),
        "lengths": torch.tensor([2]),
        "words": torch.tensor([3]),
    }
    found = PieceInput(Embedding(5, 3)).answering(draw(1, 2, 3), inputs)
    assert (found[0, 1] == 0).all() and found.isfinite().all()


def test_parts_answer_each_element_unless_they_say_otherwise():
    x = draw(2, 3, 5)
    part, inputs = InputPart(), {"lengths": torch.tensor([3, 2])}
    assert part.answering(x, inputs) is x
    assert part.mask(inputs).picture(1, 3) == Mask.lengths(torch.tensor([3])).picture(1, 3)
