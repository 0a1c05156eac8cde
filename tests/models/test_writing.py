"""What can be asked of texts: each way of asking gives each item an answer of its own."""

import random

import pytest
import torch
import written
from sharp import case

from regard.data.batching import collate
from regard.data.example import Example
from regard.data.vocabulary import SPECIAL
from regard.errors import RecipeError
from regard.models.generate import Writer, _Steps
from regard.models.looking import looked_at
from regard.written import Source

LETTERS, WORDS, PIECES = "letters, a table of what is written", "words to words", "sub-words, nothing shared"

OPTIONS = {
    "gnmt": {"length_norm": "gnmt", "length_penalty": 0.6},
    "coverage": {"coverage_penalty": 0.7},
    "min_length": {"min_length": 5},
    "max_ratio": {"max_ratio": 0.5},
    "no_repeat": {"no_repeat": 2},
    "forbidden": {"forbidden": ["b", "ca"]},
    "required": {"required": ["fed"]},
    "prefix": {"prefix": "cab"},
    "sample": {"sample": True},
    "sample sharply": {"sample": True, "temperature": 0.5, "top_k": 5, "top_p": 0.9, "seed": 7},
}


def made_with(sides=LETTERS, **decode):
    return written.predictor(sides, decode={"max_length": 11, **decode})


def told(made, examples, **asked):
    return [
        [(one.text, one.cut, one.alignment, one.score) for one in answer.texts]
        for answer in made.asking(**asked).predict(examples)
    ]


def assert_same(found, wanted):
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert [text[:3] for text in one] == [text[:3] for text in other]
        assert [text[3] for text in one] == pytest.approx([text[3] for text in other], abs=1e-4)


@pytest.mark.parametrize("option", OPTIONS)
def test_with_every_option_an_item_s_texts_are_its_own(option):
    made = made_with(**OPTIONS[option])
    examples, asked = written.given_to(made, 11), {"count": 2, "layer": 0}
    wanted = [told(made, [example], **asked)[0] for example in examples]
    order = list(range(len(examples)))
    random.Random(1).shuffle(order)
    for budget in (1, 37, 10_000):
        made.batch_tokens = budget
        found = told(made, [examples[number] for number in order], **asked)
        assert_same([found[order.index(number)] for number in range(len(order))], wanted)


KEPT = {
    "min_length": lambda text: len(text) >= 5,
    "no_repeat": lambda text: len({text[n : n + 2] for n in range(len(text) - 1)}) == max(0, len(text) - 1),
    "forbidden": lambda text: "b" not in text and "ca" not in text,
    "required": lambda text: "fed" in text,
    "prefix": lambda text: text.startswith("cab"),
}


@pytest.mark.parametrize("option", KEPT)
@pytest.mark.parametrize("sides", [LETTERS, PIECES])
def test_every_text_is_as_it_is_asked_for(option, sides):
    if option in ("no_repeat", "min_length") and sides == PIECES:
        return  # these count pieces
    made = made_with(sides, **OPTIONS[option])
    for answer in made.asking(count=3).predict(written.given_to(made, 7)):
        assert answer.texts and all(KEPT[option](one.text) for one in answer.texts), answer.texts


def test_texts_are_at_most_so_many_times_as_long_as_their_source():
    made = made_with(max_ratio=0.5, beam=1)
    written.bias_of(made)[made.writes.end] = -1e4
    for answer in made.predict(written.given_to(made, 7)):
        assert len(answer.text) == -(-len(answer.words[0]) // 2) and answer.cut


def test_several_texts_differ_and_the_best_stands_first():
    for sides in written.SIDES:
        made = made_with(sides)
        for answer in made.asking(count=4).predict(written.given_to(made, 5)):
            assert answer.text == answer.texts[0].text
            assert len({one.text for one in answer.texts}) == len(answer.texts)
            scores = [one.score for one in answer.texts]
            assert scores == sorted(scores, reverse=True)


def test_what_is_drawn_is_another_text_with_another_seed_and_temperature_0_is_greedy():
    examples = written.given_to(made_with(), 23)
    texts = [[a.text for a in made_with(sample=True, seed=seed).predict(examples)] for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
    cold = [a.text for a in made_with(sample=True, temperature=1e-4).predict(examples)]
    assert cold == [a.text for a in made_with(beam=1).predict(examples)]


# What was looked at


def test_what_a_step_looked_at_is_what_the_whole_text_looks_at():
    """Told at once, or step by step."""
    made = made_with()
    examples = written.given_to(made, 4)
    inputs = collate([made.item(example) for example in examples], range(4)).inputs
    pieces = inputs["written"][:, 1:].tolist()
    whole = looked_at(made.model, inputs, list(enumerate(pieces)), made.writes.start)
    with torch.inference_mode(), _Steps(made.model, written.COLUMN, [inputs], (), watched=True) as steps:
        steps.enter(torch.arange(4))
        for place in range(len(pieces[0])):
            steps(inputs["written"][:, place], None, None)
            looked = steps.looked()
            for row, length in enumerate(inputs["lengths"].tolist()):
                assert looked[row, :length].tolist() == pytest.approx(whole[row][place].tolist(), abs=1e-4)
                assert (looked[row, length:] == 1).all()
    assert not any(m._forward_hooks for m in made.model.modules())


@pytest.mark.parametrize("sides", [WORDS, PIECES, LETTERS])
def test_each_written_word_is_aligned_with_one_word_of_the_source(sides):
    made = made_with(sides)
    for answer in made.asking(layer=1).predict(written.given_to(made, 11)):
        (best,) = answer.texts
        source = Source(made.tokenizer, answer.example).texts
        units = best.text if sides == LETTERS else best.text.split()
        assert [word for _, word in best.alignment] == list(range(len(units)))
        assert all(0 <= place < len(source) for place, _ in best.alignment)


@pytest.mark.parametrize("sides", written.SIDES)
def test_an_empty_text_has_an_empty_alignment(sides):
    """Case B35: an end that comes first."""
    made = made_with(sides)
    written.bias_of(made)[made.writes.end] = 1e4
    for answer in made.asking(count=2, layer=0).predict([*written.given_to(made, 3), Example((), whole=True)]):
        assert answer.text == "" and answer.texts[0].alignment == ()
    longer = made_with(sides, min_length=3)
    written.bias_of(longer)[longer.writes.end] = 1e4
    for answer in longer.predict(written.given_to(longer, 3)):
        assert answer.texts[0].pieces == 4


def test_unknown_words_are_copied_from_where_the_model_looks():
    made = made_with(WORDS, unknown="copy")
    written.bias_of(made)[SPECIAL[1]] += 1e3
    copied = 0
    for answer in made.predict(written.given_to(made, 11)):
        words = answer.text.split()
        assert words == [answer.words[place] for place, _ in answer.texts[0].alignment][: len(words)]
        copied += len(words)
    assert copied > 11


# As it is decided


@pytest.mark.parametrize("sides", written.SIDES)
@pytest.mark.parametrize("decode", [{}, {"sample": True}, {"no_repeat": 2, "min_length": 3}], ids=str)
def test_a_text_in_parts_is_the_text(sides, decode):
    beam = {} if decode.get("sample") else {"beam": 1}
    made = made_with(sides, **beam, **decode)
    examples = written.given_to(made, 7)
    for example, answer in zip(examples, made.predict(examples), strict=True):
        assert "".join(made.stream(example)) == answer.text


def test_no_part_is_half_a_letter():
    """Case B44, and drawn pieces: letters of several bytes are held back until they are whole."""
    given = case("b44_stream_bytes.json")
    tokenizer = written.predictor(PIECES).writes.tokenizer
    one_byte = {tokenizer.spelled(number): number for number in range(2, 258)}

    class Pieces(type(tokenizer)):
        def spelled(self, number):
            return bytes.fromhex(given["piece_bytes_hex"][number])

    parts = list(Pieces(tokenizer.model, "none").growing(range(len(given["piece_bytes_hex"]))))
    assert "".join(parts) == given["text"] and not any("\ufffd" in part for part in parts)
    numbers = [one_byte[bytes([byte])] for byte in given["text"].encode()]
    assert "".join(tokenizer.growing(numbers)) == given["text"]
    draw = random.Random(1)
    for _ in range(200):
        numbers = [draw.randrange(2, tokenizer.sizes()["pieces"]) for _ in range(draw.randrange(9))]
        assert "".join(tokenizer.growing(numbers)) == tokenizer.text(numbers)


def test_the_spelling_of_pieces_joined_is_the_text():
    tokenizer = written.predictor(PIECES).writes.tokenizer
    for text in ("abc fed", "\u00e9 \U0001f600 地\n"):
        assert b"".join(map(tokenizer.spelled, tokenizer.numbers([text]))) == text.encode() == tokenizer.spelling(text)


# What cannot be

REFUSED = {
    "prefix": ({"prefix": "abq"}, "decode.prefix is 'abq', but 'q' is not among the"),
    "required": ({"required": ["xa"]}, "decode.required is 'xa', but 'x' is not among the"),
    "too long": ({"required": ["abcdef"], "prefix": "abcabc"}, "decode.max_length is 11, but decode.prefix and"),
    "twice": ({"prefix": "abab", "no_repeat": 2}, "in which 'ab' stands twice, but decode.no_repeat = 2"),
    "a shortest above the longest": ({"min_length": 12}, "decode.min_length is 12, but decode.max_length only 11"),
    "forbidden and required": (
        {"forbidden": ["b"], "required": ["abc"]},
        "decode.forbidden has 'b', which is in decode.required 'abc'",
    ),
    "forbidden and prefix": ({"forbidden": ["b"], "prefix": "abc"}, "which is in decode.prefix 'abc'"),
    "required with one beginning": ({"required": ["a"], "beam": 1}, "decode.required needs several beginnings"),
    "required and drawn": ({"required": ["a"], "sample": True}, "decode.required is not used with decode.sample"),
    "copies of letters": ({"unknown": "copy"}, "decode.unknown is not used with output.tokens = characters"),
    "a temperature without chance": ({"temperature": 2.0}, "decode.temperature is not used with decode.sample = false"),
}


@pytest.mark.parametrize(("decode", "words"), REFUSED.values(), ids=REFUSED)
def test_what_no_text_could_fulfil_is_refused(decode, words):
    with pytest.raises(RecipeError) as raised:
        made_with(**decode)
    assert words in str(raised.value)


# Planted faults


def _unmasked(self):
    return self.watch.weights.mean(1).flatten(0, 1)


FAULTS = {
    "padding counts as looked past": (_Steps, "looked", _unmasked, "coverage"),
    "what is drawn depends on the place in the batch": (
        Writer,
        "_items",
        lambda self, inputs: [[n] for n in range(len(inputs["lengths"]))],
        "sample",
    ),
    "limits are those of the longest": (
        Writer,
        "limits",
        lambda self, inputs: [int(inputs["lengths"].max()) // 2 + 1] * len(inputs["lengths"]),
        "max_ratio",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_law_finds_a_planted_fault(fault, monkeypatch):
    *place, option = FAULTS[fault]
    monkeypatch.setattr(*place)
    with pytest.raises(AssertionError):
        test_with_every_option_an_item_s_texts_are_its_own(option)
