"""CoNLL-U: read for its words, written back to the letter."""

import gzip
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from regard.data.conllu import Conllu
from regard.data.example import Example
from regard.data.lines import read_lines
from regard.errors import DataError


def row(number: object, form: str = "x", misc: str = "_") -> str:
    return f"{number}\t{form}\t_\tX\t_\t_\t_\t_\t_\t{misc}\n"


def examples(path: Path, *, predicting: bool = False) -> Iterator[Example | DataError]:
    return Conllu(None, ("upos",), predicting=predicting).examples(read_lines(path), "a.conllu")


def read(text: str, folder: Path) -> list[Example | DataError]:
    path = folder / "a.conllu"
    path.write_text(text, encoding="utf-8")
    return list(examples(path))


def written(path: Path) -> str:
    """All sentences as they are written back, nothing predicted."""
    reader = Conllu(None, ("upos",), predicting=True)
    found = examples(path, predicting=True)
    return "".join(reader.write(example, {}) + "\n" for example in found if isinstance(example, Example))


def back(text: str, folder: Path) -> str:
    path = folder / "a.conllu"
    path.write_text(text, encoding="utf-8")
    return written(path)


def whole(found: Example | DataError) -> Example:
    assert isinstance(found, Example), found
    return found


def fault(text: str, folder: Path) -> str:
    [found] = read(text, folder)
    assert isinstance(found, DataError)
    return str(found)


# B49


def test_ranges_empty_nodes_and_comments_are_no_words(cases: Path) -> None:
    found = list(examples(cases / "b49_mwt_empty.conllu"))
    assert all(isinstance(example, Example) for example in found)
    assert [example.words for example in found if isinstance(example, Example)] == [("da", "melo", "ya"), ("#", "_")]
    first, second = found
    assert isinstance(first, Example) and first.labels == {"upos": ("VERB", "PRON", "ADV")}
    assert isinstance(second, Example) and second.labels == {"upos": ("SYM", "PUNCT")}


def test_ranges_empty_nodes_and_comments_are_written_back_to_the_letter(cases: Path) -> None:
    path = cases / "b49_mwt_empty.conllu"
    assert written(path) == path.read_text(encoding="utf-8")


def test_answers_are_written_beside_words_only(cases: Path) -> None:
    reader = Conllu(None, ("upos",), predicting=True)
    example = next(examples(cases / "b49_mwt_empty.conllu", predicting=True))
    assert isinstance(example, Example)
    lines = reader.write(example, {"upos": ("ONE", "TWO", "THREE")}).splitlines()
    before = (cases / "b49_mwt_empty.conllu").read_text(encoding="utf-8").splitlines()
    cells = [line.split("\t") for line in lines if not line.startswith("#")]
    assert [(cell[0], cell[3]) for cell in cells] == [
        ("1-2", "_"),
        ("1", "ONE"),
        ("2", "TWO"),
        ("2.1", "VERB"),
        ("3", "THREE"),
    ]
    assert all(
        [*new[:3], *new[4:]] == [*old[:3], *old[4:]]
        for new, old in zip(cells, (line.split("\t") for line in before[3:8]), strict=True)
    )


def test_writing_answers_does_not_change_the_example(cases: Path) -> None:
    reader = Conllu(None, ("upos",), predicting=True)
    example = next(examples(cases / "b49_mwt_empty.conllu", predicting=True))
    assert isinstance(example, Example)
    before = reader.write(example, {})
    first, second = ("A", "B", "C"), ("D", "E", "F")
    assert [_upos(reader.write(example, {"upos": answers})) for answers in (first, second)] == [first, second]
    assert reader.write(example, {}) == before


def _upos(sentence: str) -> tuple[str, ...]:
    """The column of UPOS beside words."""
    rows = [line.split("\t") for line in sentence.splitlines() if not line.startswith("#")]
    return tuple(cells[3] for cells in rows if cells[0].isdecimal())


def test_a_bad_range_is_named_by_its_line(cases: Path) -> None:
    [found] = examples(cases / "b49_bad_range.conllu")
    assert str(found) == "a.conllu, line 2: the range 2-2 must go from the next word (2) to a later one"


# To the letter


TREEBANKS = ["english-ewt", "turkish-imst", "chinese-gsd-r1.3", "chinese-gsdsimp-devtest"]


@pytest.mark.parametrize("name", TREEBANKS)
def test_three_hundred_real_sentences_are_written_back_to_the_letter(
    name: str, shared_data: Path, tmp_path: Path
) -> None:
    [packed] = (shared_data / f"ud-{name}").glob("*dev.conllu.gz")
    with gzip.open(packed, "rt", encoding="utf-8", newline="") as stream:
        text = "".join(itertools.islice(_sentences(stream), 300))
    path = tmp_path / "dev.conllu"
    path.write_text(text, encoding="utf-8", newline="")
    assert written(path) == text


def _sentences(lines: Iterator[str]) -> Iterator[str]:
    """Each sentence with its blank line."""
    sentence = ""
    for line in lines:
        sentence += line
        if line == "\n":
            yield sentence
            sentence = ""


AS_WRITTEN = {
    "a no-break space as a word": row(1, "\u00a0") + row(2, "\u3000"),
    "separators of lines inside words": row(1, "a\u2028b") + row(2, "\x85") + row(3, "a\x0bb"),
    "spaces around words": row(1, " x") + row(2, "y ") + row(3, "10 000"),
    "nothing in a cell": row(1, ""),
    "quotes": row(1, '"') + row(2, "'"),
    "a word that is a hash": "# text = #\n" + row(1, "#"),
    "comments of key and value": "# sent_id = 1\n# text = a b\n# é = ü = i\n" + row(1),
    "a document": "# newdoc\n# newpar\n" + row(1),
    "an empty node first": row("0.1") + row(1) + row("1.1") + row("1.2"),
    "a comment without a value": "# a remark\n" + row(1),
    "an empty value": "# text =\n" + row(1),
    "a comment written closely": "#text=a\n" + row(1),
    "an empty comment": "#\n" + row(1),
    "a comment twice": "# note = 1\n# note = 2\n" + row(1),
    "a space at a comment's end": "# text = a \n" + row(1),
    "a comment between words": row(1) + "# between\n" + row(2),
    "two spaces in a word": row(1, "a  b"),
    "two spaces in the last column": row(1, misc="Gloss=a  b"),
    "a space at the end": row(1, misc="Gloss=a\u00a0"),
}


@pytest.mark.parametrize("sentence", AS_WRITTEN.values(), ids=AS_WRITTEN)
def test_a_sentence_is_written_back_to_the_letter(sentence: str, tmp_path: Path) -> None:
    assert back(sentence + "\n", tmp_path) == sentence + "\n"


def test_two_spaces_in_a_word_do_not_shift_its_label(tmp_path: Path) -> None:
    [example] = read(row(1, "a  b") + "\n", tmp_path)
    assert isinstance(example, Example)
    assert example.words == ("a  b",) and example.labels == {"upos": ("X",)}


# What is read


@pytest.mark.parametrize("name", TREEBANKS)
def test_words_and_upos_of_real_treebanks_are_those_that_the_library_conllu_reads(name: str, shared_data: Path) -> None:
    library = pytest.importorskip("conllu")
    [packed] = (shared_data / f"ud-{name}").glob("*dev.conllu.gz")
    found = [(example.words, example.labels["upos"]) for example in map(whole, examples(packed))]
    with gzip.open(packed, "rt", encoding="utf-8") as stream:
        sentences = [[token for token in one if isinstance(token["id"], int)] for one in library.parse_incr(stream)]
    assert len(found) > 300
    assert found == [
        (tuple(token["form"] for token in words), tuple(token["upos"] for token in words)) for words in sentences
    ]


def test_a_sentence_knows_its_place(tmp_path: Path) -> None:
    found = read("\n\n# a\n" + row(1) + "\n" + row(1) + "\n", tmp_path)
    assert [str(example.place) for example in found if isinstance(example, Example)] == ["a.conllu:3", "a.conllu:6"]


def test_any_columns_may_be_read_and_learnt(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("1\tform\tlemma\tupos\txpos\tfeats\t0\tdeprel\tdeps\tmisc\n", encoding="utf-8")
    [example] = Conllu("lemma", ("xpos", 8, "misc")).examples(read_lines(path), "a")
    assert isinstance(example, Example)
    assert example.words == ("lemma",)
    assert example.labels == {"xpos": ("xpos",), "deprel": ("deprel",), "misc": ("misc",)}


def test_without_labels_none_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text(row(1) + "\n", encoding="utf-8")
    [example] = examples(path, predicting=True)
    assert isinstance(example, Example) and example.labels == {}


def test_what_is_kept_for_writing_is_the_lines_as_they_were(tmp_path: Path) -> None:
    path, lines = tmp_path / "a", "# a\n" + row("1-2") + row(1) + row(2, "b  c ")
    path.write_text(lines + "\n", encoding="utf-8")
    [example] = examples(path, predicting=True)
    assert whole(example).record == lines.splitlines()


def test_only_comments_are_a_sentence_without_words(tmp_path: Path) -> None:
    found = read("# a\n# b\n\n" + row(1) + "\n", tmp_path)
    assert [example.words for example in found if isinstance(example, Example)] == [(), ("x",)]


FAULTS = {
    "too few columns": (row(1) + "2\tx\t_\n", "line 2: 3 columns where CoNLL-U has 10, parted by tabs"),
    "too many columns": (row(1, misc="_\t_"), "line 1: 11 columns where CoNLL-U has 10, parted by tabs"),
    "spaces for tabs": (row(1).replace("\t", " "), "line 1: 1 columns where CoNLL-U has 10, parted by tabs"),
    "a word left out": ("# a\n" + row(1) + row(3), "line 3: '3' stands where word 2 was expected"),
    "a word twice": (row(1) + row(1), "line 2: '1' stands where word 2 was expected"),
    "no number": (row("a"), "line 1: 'a' stands where word 1 was expected"),
    "a range backwards": (
        row(1) + row("3-2") + row(2),
        "line 2: the range 3-2 must go from the next word (2) to a later one",
    ),
    "a range past the end": (row("1-3") + row(1) + row(2), "line 3: a range goes to word 3, but the last word is 2"),
    "a range in a range": (
        row("1-3") + row(1) + row("2-3") + row(2) + row(3),
        "line 3: the range 2-3 must go from the next word (2) to a later one",
    ),
    "an empty node out of place": (row(1) + row("2.1"), "line 2: the empty node 2.1 does not follow word 2"),
}


@pytest.mark.parametrize(("text", "words"), FAULTS.values(), ids=FAULTS)
def test_a_faulty_sentence_is_named_by_its_line(text: str, words: str, tmp_path: Path) -> None:
    assert fault(text, tmp_path) == f"a.conllu, {words}"


def test_a_faulty_sentence_does_not_spoil_the_others(tmp_path: Path) -> None:
    found = read(row(1) + "\n" + row(7) + "\n" + row(1, "y") + "\n", tmp_path)
    assert [isinstance(example, Example) for example in found] == [True, False, True]


COLUMNS = "it has form, lemma, upos, xpos, feats, head, deprel, deps, misc"


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        (None, ("upso",), f"data.target: CoNLL-U has no column upso to read; {COLUMNS}; did you mean upos?"),
        (None, (11,), f"data.target: CoNLL-U has no column 11 to read; {COLUMNS}"),
        (None, ("id",), f"data.target: CoNLL-U has no column id to read; {COLUMNS}"),
        (1, (), f"data.source: CoNLL-U has no column 1 to read; {COLUMNS}"),
        (0, (), f"data.source: CoNLL-U has no column 0 to read; {COLUMNS}"),
        ("froms", (), f"data.source: CoNLL-U has no column froms to read; {COLUMNS}; did you mean form?"),
    ],
)
def test_an_unknown_column_lists_the_columns(
    source: str | int | None, target: tuple[str | int, ...], words: str
) -> None:
    with pytest.raises(DataError) as raised:
        Conllu(source, target)
    assert str(raised.value) == words
