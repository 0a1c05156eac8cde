"""Two texts and a class or number for both: read as one or apart, with marks at the words that both have."""

import random

import pytest
import torch
from small import recipe
from test_cli import regard

import regard as package
from regard.build import build, learn
from regard.data.batching import collate
from regard.data.example import Example
from regard.data.tokenizer import EncodedText
from regard.data.vocabulary import SEPARATOR
from regard.errors import RecipeError
from regard.models.inputs import MarkedInput
from regard.predict import shared_words, texts_of
from regard.recipe import recipe_from

WORDS = [f"w{number}" for number in range(61)]


def rows(count: int, seed: int) -> list[tuple[str, str, int]]:
    """Two texts of five words, and how many words they share."""
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        one, shared = chance.sample(WORDS, 5), chance.randrange(6)
        other = one[:shared] + [word for word in chance.sample(WORDS, 11) if word not in one][: 5 - shared]
        chance.shuffle(other)
        found.append((" ".join(one), " ".join(other), shared))
    return found


def write(folder, **parts):
    for part, count in parts.items():
        lines = [f"{one}\t{other}\t{number}\n" for one, other, number in rows(count, len(part))]
        (folder / f"{part}.tsv").write_text("one\tother\tshared\n" + "".join(lines))


def test_marks_are_at_the_words_of_both_texts_whatever_their_case():
    words = ("The", "cat", "sat", "cat", SEPARATOR, "a", "Cat", "the", SEPARATOR, "dog")
    assert shared_words(words) == (1, 1, 0, 1, 0, 0, 1, 1, 0, 0)
    assert texts_of(words, EncodedText()) == (0, 0, 0, 0, -1, 1, 1, 1, -1, 2)


def test_a_word_that_comes_twice_in_one_text_is_not_shared():
    assert shared_words(("a", "a", SEPARATOR, "b")) == (0, 0, 0, 0)
    assert shared_words(()) == () and shared_words((SEPARATOR,)) == (0,)


def test_pieces_belong_to_the_text_of_their_word():
    encoded = EncodedText(pieces=(5, 6, 7, 8), word_of_piece=(0, 0, 1, 2))
    assert texts_of(("ab", SEPARATOR, "c"), encoded) == (0, 0, -1, 1)


def predictor(examples, **model):
    given = {
        **recipe(model={"dropout": 0.0, **model}, input={"dropout": 0.0, "shared_words": True}),
        "task": {"kind": "regress"},
        "data": {"train": "x", "source": [1, 2], "format": "tsv"},
    }
    settings = recipe_from(given)
    made = build(settings, *learn(settings, examples, ("3",)))
    made.model.eval()
    for head in made.model.output.heads:  # numbers start at 0: what is answered must show
        torch.nn.init.normal_(head.project.weight)
    return made


def example(one, other, number="0"):
    return Example((*one.split(), SEPARATOR, *other.split()), {"3": (number,)}, whole=True)


EXAMPLES = [example(one, other, str(number)) for one, other, number in rows(31, 5)]


@pytest.mark.parametrize("pooling", ["mean", "first", "attention"])
@pytest.mark.parametrize("tokens", ["words", "words+characters"])
def test_read_apart_a_text_is_the_same_whatever_stands_beside_it(pooling, tokens):
    made = predictor(EXAMPLES, towers=True, pooling=pooling, position="rotary")
    width = 16
    one, long = example("w1 w2 w3", "w7"), example("w1 w2 w3", "w8 w9 w10 w11 w12")
    vectors = []
    for given in (one, long):
        inputs = collate([made.item(given)], [0]).inputs
        x = made.model.encoder(made.model.input(inputs), made.model.input.mask(inputs))
        vectors.append(made.model.gather(x, inputs)[0, 0])
    torch.testing.assert_close(vectors[0][:width], vectors[1][:width], atol=1e-5, rtol=0)
    assert (vectors[0][width : 2 * width] - vectors[1][width : 2 * width]).abs().max() > 1e-2


@pytest.mark.parametrize("towers", [True, False])
def test_the_answer_to_a_pair_does_not_depend_on_its_neighbours(towers):
    made = predictor(EXAMPLES, towers=towers)
    alone = [next(made.predict([one])).number for one in EXAMPLES]
    assert len(set(alone)) > 20
    assert [answer.number for answer in made.predict(EXAMPLES)] == pytest.approx(alone, abs=1e-3)
    odd = [example("w1", ""), *EXAMPLES, example("", ""), example("w1 " * 40, "w1 " * 50)]
    assert [answer.number for answer in made.predict(odd)][1:-2] == pytest.approx(alone, abs=1e-3)


def test_a_mark_changes_the_answer():
    made = predictor(EXAMPLES)
    assert isinstance(made.model.input, MarkedInput)
    before = next(made.predict([EXAMPLES[0]])).number
    with torch.no_grad():
        made.model.input.marks.weight.add_(torch.randn(2, 16, generator=torch.Generator().manual_seed(1)))
    assert next(made.predict([EXAMPLES[0]])).number != pytest.approx(before, abs=1e-4)


def test_how_many_words_are_shared_is_learnt_and_the_recipe_says_how(tmp_path):
    write(tmp_path, train=400, dev=60, test=90)
    found = regard("init", "regress", "--data", "train.tsv", "dev.tsv", "--source", "one,other", "--target", "shared",
                   "--out", "pairs.toml", folder=tmp_path)  # fmt: skip
    assert found.status == 0, found.err
    text = (tmp_path / "pairs.toml").read_text()
    assert "shared_words = true" in text and "towers = true" in text
    found = regard("train", "pairs.toml", "train.minutes=0.1", "train.threads=1", folder=tmp_path)
    assert found.status == 0, found.err
    run = package.load(tmp_path / "runs" / "pairs")
    assert run.evaluate(tmp_path / "test.tsv").values["pearson"] > 0.9
    again = regard("predict", "runs/pairs", "test.tsv", folder=tmp_path)
    assert again.status == 0 and len(again.out.splitlines()) == 90


@pytest.mark.parametrize("setting", ["model.towers", "input.shared_words"])
def test_pairs_need_two_source_columns(setting):
    given = {"task": {"kind": "regress"}, "data": {"train": "a.tsv", "source": "text"}}
    with pytest.raises(RecipeError, match=rf"{setting} compares two texts, but data.source names 1 columns; name two"):
        recipe_from(given, {setting: True})
    with pytest.raises(RecipeError, match=rf"{setting} is not used with task.kind = label"):
        recipe_from({"data": {"train": "a.tsv", "source": ["a", "b"]}}, {setting: True})
