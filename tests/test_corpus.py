"""A recipe's files -> the examples to learn from, to choose by and to report on."""

from pathlib import Path
from typing import Any

import pytest

from regard.corpus import PAIRS_COLUMN, given_corpus, read_corpus, read_part, settled, splitter
from regard.data.example import Example
from regard.errors import DataError, RegardError
from regard.recipe import Recipe, recipe_from


def silent(sentence: str) -> None:
    pass


def file(folder: Path, name: str, count: int, format: str = "columns") -> str:
    rows = {"columns": "{n}\tL{n}\n\n", "conllu": "1\tw{n}\t_\tU{n}\tX{n}\t_\t_\t_\t_\t_\n\n"}[format]
    path = folder / name
    path.write_text("".join(rows.format(n=number) for number in range(count)), encoding="utf-8")
    return str(path)


def recipe(train: Any, **sections: Any) -> Recipe:
    return recipe_from({"data": {"train": train, **sections.pop("data", {})}, **sections})


def test_each_part_is_read_from_its_files(tmp_path: Path) -> None:
    parts = {part: file(tmp_path, part, count) for part, count in (("train", 7), ("dev", 3), ("test", 2))}
    corpus = read_corpus(recipe_from({"data": parts}), silent)
    assert [len(part) for part in (corpus.train, corpus.dev, corpus.test)] == [7, 3, 2]
    assert corpus.columns == ("-1",) and set(corpus.digests) == set(parts.values())


def test_a_dev_without_labels_is_refused_and_one_label_is_enough(tmp_path: Path) -> None:
    train = file(tmp_path, "train", 3, "conllu")
    dev = Path(file(tmp_path, "dev", 2, "conllu"))
    asked = {"data": {"train": train, "dev": str(dev)}}
    text = dev.read_text()
    dev.write_text(text.replace("U0", "_"))
    assert len(read_corpus(recipe_from(asked), silent).dev) == 2
    dev.write_text(text.replace("U0", "_").replace("U1", "_"))
    with pytest.raises(
        DataError, match=r"dev:1.*: no item of dev has a label of upos, but by dev .* leave data\.dev out"
    ):
        read_corpus(recipe_from(asked), silent)


def test_several_files_make_one_part(tmp_path: Path) -> None:
    paths = [file(tmp_path, "a", 3), file(tmp_path, "b", 2)]
    corpus = read_corpus(recipe(paths, data={"dev": paths[1]}), silent)
    assert [Path(example.place.file).name for example in corpus.train] == ["a", "a", "a", "b", "b"]


def test_of_conllu_upos_is_learnt_where_nothing_is_said(tmp_path: Path) -> None:
    path = file(tmp_path, "a", 5, "conllu")
    assert read_corpus(recipe(path), silent).columns == ("upos",)
    corpus = read_corpus(recipe(path, data={"target": ["xpos", "upos"]}), silent)
    assert corpus.columns == ("xpos", "upos")


def test_without_dev_a_share_is_set_aside_and_said(tmp_path: Path) -> None:
    said: list[str] = []
    corpus = read_corpus(recipe(file(tmp_path, "a", 31), data={"split": 0.2}), said.append)
    assert (len(corpus.train), len(corpus.dev)) == (25, 6)
    assert said == ["no dev data: 6 of 31 examples are set aside (data.split)"]


EXAMPLES = [Example((str(number),), {"a": ("x",)}) for number in range(101)]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"there is no file {tmp_path / 'b'}"):
        read_corpus(recipe(file(tmp_path, "a", 2), data={"dev": str(tmp_path / "b")}), silent)


def test_a_digest_changes_with_the_file(tmp_path: Path) -> None:
    first = read_corpus(recipe(file(tmp_path, "a", 5)), silent).digests
    second = read_corpus(recipe(file(tmp_path, "a", 7)), silent).digests
    assert first.keys() == second.keys() and first != second


@pytest.mark.parametrize("part", ["dev", "test"])
def test_parts_without_the_learnt_columns_are_refused_at_once(part: str, tmp_path: Path) -> None:
    path = file(tmp_path, "b", 3)
    with pytest.raises(DataError) as raised:
        read_corpus(recipe(file(tmp_path, "a", 5, "conllu"), data={part: path}), silent)
    assert str(raised.value) == (
        f"{path}:1: the columns -1 where upos are learnt; {part} must have the columns of train"
    )


# One's own sequences

OWN = [(["I", "saw"], ["PRON", "VERB"]), (["a"], ["DET"]), ([], [])]


def test_one_s_own_pairs_become_examples() -> None:
    corpus = given_corpus(recipe("-"), {"train": OWN, "dev": OWN[:1]}, silent)
    assert corpus.columns == (PAIRS_COLUMN,)
    assert corpus.train[0] == Example(("I", "saw"), {PAIRS_COLUMN: ("PRON", "VERB")}, corpus.train[0].place)
    assert [str(example.place) for example in corpus.train] == ["train:1", "train:2", "train:3"]
    assert len(corpus.dev) == 1 and corpus.test == []


def test_one_s_own_examples_stay_what_they_are() -> None:
    assert given_corpus(recipe("-"), {"train": EXAMPLES, "dev": EXAMPLES}, silent).train == EXAMPLES


def test_without_dev_a_share_of_one_s_own_is_set_aside() -> None:
    corpus = given_corpus(recipe("-"), {"train": EXAMPLES}, silent)
    assert (len(corpus.train), len(corpus.dev)) == (91, 10)


def test_a_digest_changes_with_one_s_own_data() -> None:
    one, other = (given_corpus(recipe("-"), {"train": OWN, "dev": dev}, silent).digests for dev in (OWN, OWN[:1]))
    assert one["train"] == other["train"] and one["dev"] != other["dev"]


@pytest.mark.parametrize("given", [{}, {"train": []}, {"trian": OWN}, {"train": OWN, "val": OWN}])
def test_parts_must_be_known_and_train_must_not_be_empty(given: dict[str, Any]) -> None:
    with pytest.raises(DataError) as raised:
        given_corpus(recipe("-"), given, silent)
    assert str(raised.value) == (
        f"data has the parts train, dev, test, of which train must not be empty; found {list(given)}"
    )


def test_parts_of_one_s_own_must_have_the_same_columns() -> None:
    with pytest.raises(DataError, match="label where a are learnt; dev must have the columns of train"):
        given_corpus(recipe("-"), {"train": EXAMPLES, "dev": OWN}, silent)


def test_the_order_of_one_s_own_columns_does_not_matter() -> None:
    one, other = Example(("x",), {"a": ("1",), "b": ("2",)}), Example(("x",), {"b": ("2",), "a": ("1",)})
    assert given_corpus(recipe("-"), {"train": [one], "dev": [other]}, silent).columns == ("a", "b")


def test_words_and_labels_must_be_as_many() -> None:
    with pytest.raises(DataError) as raised:
        given_corpus(recipe("-"), {"train": [*OWN, (["a", "b"], ["X"])], "dev": OWN}, silent)
    assert str(raised.value) == "data['train'], item 4: 2 words and 1 labels"


def whole(kind: str, *pairs: Any) -> list[Example]:
    given = recipe_from({"task": {"kind": kind}, "data": {"train": "x"}})
    return list(given_corpus(given, {"train": pairs, "dev": pairs}, silent).train)


def test_a_pair_of_the_whole_is_a_text_or_words_and_one_target() -> None:
    text, words = whole("classify", ("I saw it.", "A"), (["I", "saw it"], "B"))
    assert (text.words, text.labels, text.whole) == (("I", "saw", "it", "."), {"label": ("A",)}, True)
    assert (words.words, words.labels, words.whole) == (("I", "saw it"), {"label": ("B",)}, True)
    assert [example.labels["label"] for example in whole("regress", ("a", 1), ("b", 2.5))] == [("1",), ("2.5",)]


def test_a_target_that_is_none_is_not_known() -> None:
    assert whole("classify", ("a", "A"), ("b", None))[1].labels == {"label": (None,)}
    assert whole("regress", ("a", 1), ("b", None))[1].labels == {"label": (None,)}


@pytest.mark.parametrize("value", ["two", "1,5", "nan", "1e999"])
def test_a_number_to_learn_or_to_score_is_one_or_is_named(value: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(f"a\t1\nb\t{value}\n", encoding="utf-8")
    with pytest.raises(DataError, match=rf"a\.tsv:2: the target {value!r} is not a number \(data\.on_error"):
        read_part(recipe(str(path), task={"kind": "regress"}), [str(path)])
    with pytest.raises(DataError, match=rf"^train:2: the target {value!r} is not a number"):
        whole("regress", ("a", 1), ("b", value))
    left_out = read_part(recipe(str(path), task={"kind": "regress"}, data={"ignore": value}), [str(path)])
    classes = read_part(recipe(str(path), task={"kind": "classify"}), [str(path)])
    assert [one.labels["2"] for one in left_out] == [("1",), (None,)]
    assert [one.labels["2"] for one in classes] == [("1",), (value,)]


FORMATS = [
    ("label", "conllu", "1\tI\t_\tPRON\t_\t_\t_\t_\t_\t_\n\n"),
    ("label", "columns", "I\tPRON\nsaw\tVERB\n\n"),
    ("classify", "tsv", "a\tx\nb\ty\n"),
    ("classify", "csv", "a,x\nb,y\n"),
    ("regress", "jsonl", '{"a": "x", "b": 1}\n'),
]


@pytest.mark.parametrize(("kind", "format", "text"), FORMATS)
def test_a_guessed_format_is_settled_by_the_first_file(kind: str, format: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text(text, encoding="utf-8")
    assert settled(recipe(str(path), task={"kind": kind})).data.format == format
    given = recipe(str(path), task={"kind": kind}, data={"format": "tsv"})
    assert settled(given) == given


def test_what_is_plain_text_or_no_file_settles_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("so good\n", encoding="utf-8")
    for path in (tmp_path / "a", tmp_path / "gone"):
        for kind in ("label", "classify"):
            assert settled(recipe(str(path), task={"kind": kind})).data.format == "guess"


@pytest.mark.parametrize("tokens", ["words", "words+characters", "characters", "subwords"])
def test_letters_and_sub_words_are_made_of_the_text_of_the_whole_as_it_stands(tokens: str) -> None:
    values: dict[str, Any] = {"task": {"kind": "classify"}, "data": {"train": "x"}, "input": {"tokens": tokens}}
    split = splitter(recipe_from(values))
    assert split("") == ()
    if tokens in ("characters", "subwords"):
        assert split("two  words.") == ("two  words.",)
    else:
        assert split("two  words.") == ("two", "words", ".") and split(" ") == ()
    assert splitter(recipe_from({**values, "task": {"kind": "label"}}))("two  words.") == ("two", "words", ".")


def test_what_is_ignored_is_unknown_from_the_start(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("a\t1\nb\t-999\nc\t3\n", encoding="utf-8")
    values = {"task": {"kind": "regress"}, "data": {"train": str(path), "ignore": "-999"}}
    found = read_part(recipe_from(values), [str(path)])
    assert [example.labels["2"] for example in found] == [("1",), (None,), ("3",)]


def test_with_skip_a_wrong_number_is_left_out_and_said(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("a\t1\nb\ttwo\nc\t3\n", encoding="utf-8")
    values = {"task": {"kind": "regress"}, "data": {"train": str(path), "on_error": "skip"}}
    said: list[str] = []
    assert len(read_part(recipe_from(values), [str(path)], said.append)) == 2
    assert said == [f"left out: {path}:2: the target 'two' is not a number"]


def test_with_skip_items_that_break_the_scheme_are_left_out_of_training_and_said(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("a B-X\nb I-X\n\nc I-X\n\nd O\n", encoding="utf-8")
    values = {
        "data": {"train": str(path), "dev": str(path), "on_error": "skip"},
        "output": {"crf": True, "scheme": "IOB2"},
    }
    said: list[str] = []
    found = read_corpus(recipe_from(values), said.append)
    assert [example.words for example in found.train] == [("a", "b"), ("d",)]
    assert len(found.dev) == 3  # what is scored is not chosen by its labels
    assert said == [f"left out: 1 of 3 items of train, whose labels break the scheme IOB2, as at {path}:4"]


# Several files


def test_files_that_look_different_are_refused_by_name(tmp_path: Path) -> None:
    texts = {"a.tsv": "text\ty\none\tx\ntwo\tx\n", "b.csv": "text,y\nthree,x\nfour,x\n", "c.txt": "five\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    table, other, unclear = (str(tmp_path / name) for name in texts)
    for data in ({"train": [table, other]}, {"train": table, "dev": other}, {"train": table, "test": other}):
        with pytest.raises(DataError) as raised:
            settled(recipe_from({"task": {"kind": "classify"}, "data": data}))
        assert str(raised.value) == (
            f"{other} looks like csv, but {table} like tsv; give files of one format, or say with data.format which it "
            "is"
        )
    given = recipe_from({"task": {"kind": "classify"}, "data": {"train": [table, unclear]}})
    assert settled(given).data.format == "tsv"


def test_conllu_beside_columns_is_refused_and_not_read_as_columns(tmp_path: Path) -> None:
    paths = [file(tmp_path, "a", 5, "columns"), file(tmp_path, "b", 5, "conllu")]
    with pytest.raises(DataError, match=r"b looks like conllu, but .*a like columns"):
        settled(recipe(paths))


def test_each_file_of_a_table_has_its_own_header_and_width(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("text\ty\none\tx\ntwo\ty\n", encoding="utf-8")
    (tmp_path / "b").write_text("\ufeffid\ty\ttext\n7\tx\tthree\n", encoding="utf-8")
    data = {"train": [str(tmp_path / "a"), str(tmp_path / "b")], "source": "text", "target": "y"}
    found = read_part(recipe_from({"task": {"kind": "classify"}, "data": data}), data["train"])
    assert [(one.words, one.labels["y"]) for one in found] == [
        (("one",), ("x",)),
        (("two",), ("y",)),
        (("three",), ("x",)),
    ]


# Parallel files


def test_parallel_files_are_read_in_twos_and_all_are_known_by_their_digests(tmp_path: Path) -> None:
    for name, text in (("a.de", "eins\nzwei\n"), ("a.en", "one\ntwo\n"), ("b.de", "drei\n"), ("b.en", "three\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    train = [str(tmp_path / name) for name in ("a.de", "a.en", "b.de", "b.en")]
    values = {"task": {"kind": "classify"}, "data": {"format": "parallel", "train": train, "dev": train[2:]}}
    corpus = read_corpus(recipe_from(values), silent)
    assert [(one.words, one.labels["target"]) for one in corpus.train] == [
        (("eins",), ("one",)),
        (("zwei",), ("two",)),
        (("drei",), ("three",)),
    ]
    assert corpus.columns == ("target",) and len(corpus.dev) == 1 and list(corpus.digests) == train


def test_numbers_in_a_second_file_are_checked_like_those_of_a_table(tmp_path: Path) -> None:
    for name, text in (("a", "one\ntwo\n"), ("b", "1\ntwo\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = [str(tmp_path / "a"), str(tmp_path / "b")]
    values = {"task": {"kind": "regress"}, "data": {"format": "parallel", "train": files}}
    with pytest.raises(DataError, match=r"a:2: the target 'two' is not a number"):
        read_part(recipe_from(values), files)


def test_a_label_for_each_word_is_not_read_from_parallel_files(tmp_path: Path) -> None:
    files = [file(tmp_path, "a", 3), file(tmp_path, "b", 3)]
    with pytest.raises(RegardError, match=r"unknown data\.format of a label for each word parallel"):
        read_part(recipe_from({"data": {"format": "parallel", "train": files}}), files)


# Schemes


def labelled(folder: Path, text: str, **data: Any) -> Recipe:
    path = folder / "a.conll"
    path.write_text(text, encoding="utf-8")
    return recipe_from({"data": {"train": str(path), **data}, "output": {"scheme": "IOB2"}})


def test_labels_are_converted_when_read(tmp_path: Path) -> None:
    given = labelled(tmp_path, "a I-X\nb I-X\nc B-X\nd O\n\ne I-Y\n", scheme="IOB1")
    found = read_part(given, given.data.train)
    assert [example.labels["-1"] for example in found] == [("B-X", "I-X", "B-X", "O"), ("B-Y",)]


def test_so_are_one_s_own(tmp_path: Path) -> None:
    given = labelled(tmp_path, "", scheme="BILOU")
    corpus = given_corpus(given, {"train": [(["a", "b"], ["B-X", "L-X"]), (["c"], ["U-X"])]}, silent)
    assert {example.labels["label"] for example in (*corpus.train, *corpus.dev)} == {("B-X", "I-X"), ("B-X",)}


def test_ignored_labels_are_those_of_the_files(tmp_path: Path) -> None:
    given = labelled(tmp_path, "a S-X\nb S-Z\nc B-X\nd E-X\n\n", scheme="IOBES", ignore=["S-Z"])
    (example,) = read_part(given, given.data.train)
    assert example.labels["-1"] == ("B-X", None, "B-X", "I-X")


def test_labels_that_break_the_files_scheme_are_named_or_left_out(tmp_path: Path) -> None:
    text = "a O\n\nb O\nc B-X\n\nd I-X\n"
    given = labelled(tmp_path, text, scheme="IOB1")
    words = "a.conll:3, word 2: B-X after O does not follow data.scheme = IOB1; mend the labels, or name the files' own"
    with pytest.raises(DataError, match=f'{words} scheme .data.on_error = "skip" leaves such out'):
        read_part(given, given.data.train)
    given = labelled(tmp_path, text, scheme="IOB1", on_error="skip")
    said: list[str] = []
    assert [example.labels["-1"] for example in read_part(given, given.data.train, said.append)] == [("O",), ("B-X",)]
    assert len(said) == 1 and f"left out: {tmp_path}/{words}" in said[0]


def test_where_no_example_is_left_the_first_fault_is_told_and_no_other(tmp_path: Path) -> None:
    given = labelled(tmp_path, "a B-X\n\nb B-X\n\nc B-X\n", scheme="IOB1", on_error="skip")
    said: list[str] = []
    with pytest.raises(
        DataError, match=r"^none of 3 examples can be learnt or scored; the first: .*a\.conll:1, word 1"
    ):
        read_part(given, given.data.train, said.append)
    assert said == []


# Set aside


def table_of(folder: Path, rows: int) -> str:
    path = folder / "a.tsv"
    lines = [f"text {n}\t{'xyz'[n % 3]}\tspeaker {n % 13}" for n in range(rows)]
    path.write_text("\n".join(["text\ty\twho", *lines]) + "\n", encoding="utf-8")
    return str(path)


def divided(folder: Path, said: list[str], rows: int = 97, **data: Any) -> Any:
    given: dict[str, Any] = {"train": table_of(folder, rows), "source": "text", "target": "y", **data}
    return read_corpus(recipe_from({"task": {"kind": "classify"}, "data": given}), said.append)


SET_ASIDE: list[tuple[dict[str, Any], str]] = [
    ({}, "no dev data: 10 of 97 examples are set aside (data.split, each class by its share)"),
    (
        {"split": [0.1, 0.2]},
        "no dev and no test data: 10 and 19 of 97 examples are set aside (data.split, each class by its share)",
    ),
    ({"split": 0.2, "split_by": "lines"}, "no dev data: 19 of 97 examples are set aside (data.split, by lines)"),
]


@pytest.mark.parametrize(("data", "sentence"), SET_ASIDE)
def test_what_is_set_aside_is_said(data: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    said: list[str] = []
    corpus = divided(tmp_path, said, **data)
    assert said == [sentence]
    assert len({example.words for part in (corpus.train, corpus.dev, corpus.test) for example in part}) == 97


@pytest.mark.parametrize("column", ["who", 3])
def test_all_of_a_group_are_on_one_side(column: str | int, tmp_path: Path) -> None:
    said: list[str] = []
    corpus = divided(
        tmp_path, said, split=[0.3, 0.3], split_by="column", split_column=column, header=True, source=1, target=2
    )
    groups = [{example.group for example in part} for part in (corpus.train, corpus.dev, corpus.test)]
    assert all(groups) and sum(map(len, groups)) == len(set.union(*groups)) == 13
    assert said == [
        f"no dev and no test data: {len(corpus.dev)} and {len(corpus.test)} of 97 examples are set aside "
        f"(data.split, by the column {column})"
    ]


def test_the_column_that_parts_is_asked_of_train_alone(tmp_path: Path) -> None:
    (tmp_path / "test.tsv").write_text("text\ty\nno one\tx\n", encoding="utf-8")
    data = {"split": 0.4, "split_by": "column", "split_column": "who", "test": str(tmp_path / "test.tsv")}
    corpus = divided(tmp_path, [], **data)
    assert len(corpus.test) == 1 and corpus.dev
    with pytest.raises(DataError, match=r"a\.tsv.*there is no column whom; the columns are text, y, who"):
        divided(tmp_path, [], **{**data, "split_column": "whom"})


def test_where_one_column_is_named_every_file_has_a_header(tmp_path: Path) -> None:
    (tmp_path / "test.tsv").write_text("text\ty\nno one\tx\n", encoding="utf-8")
    data = {"split": 0.4, "split_by": "column", "split_column": "who", "test": str(tmp_path / "test.tsv")}
    corpus = divided(tmp_path, [], source=1, target=2, **data)
    assert [example.words for example in corpus.test] == [("no", "one")]
    assert len(corpus.train) + len(corpus.dev) == 97


def test_json_lines_have_groups_too(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"t": "{n}", "y": "x", "who": {n % 5}}}\n' for n in range(29)), encoding="utf-8")
    data = {"train": str(path), "source": "t", "target": "y", "split": 0.5, "split_by": "column", "split_column": "who"}
    corpus = read_corpus(recipe_from({"task": {"kind": "classify"}, "data": data}), silent)
    assert not {example.group for example in corpus.train} & {example.group for example in corpus.dev}


def test_one_s_own_examples_need_groups_to_be_parted_by_them(tmp_path: Path) -> None:
    data = {"train": "x", "split": 0.5, "split_by": "column", "split_column": "who"}
    given = recipe_from({"task": {"kind": "classify"}, "data": data})
    with pytest.raises(DataError, match=r"train:1: data\.split_by is column, but this example has no group"):
        given_corpus(given, {"train": [("a", "x"), ("b", "y")]}, silent)
    own = [Example((str(n),), {"y": ("x",)}, whole=True, group=str(n % 7)) for n in range(31)]
    corpus = given_corpus(given, {"train": own}, silent)
    assert not {example.group for example in corpus.train} & {example.group for example in corpus.dev}


def test_a_test_of_one_s_own_is_not_replaced(tmp_path: Path) -> None:
    given = recipe("-", data={"split": [0.1, 0.1]})
    with pytest.raises(DataError, match=r"data\.split has a second share, for test, but test is given"):
        given_corpus(given, {"train": EXAMPLES, "test": EXAMPLES[:3]}, silent)
    assert given_corpus(given, {"train": EXAMPLES, "dev": EXAMPLES[:3]}, silent).test == []


# Cells


ROW = {"tsv": "{}\t{}\n", "csv": '{},"{}"\n', "jsonl": '{{"t": "{}", "y": "{}"}}\n'}


@pytest.mark.parametrize("format", ROW)
@pytest.mark.parametrize("cell", ["", "  "])
@pytest.mark.parametrize("kind", ["classify", "regress"])
def test_an_empty_target_is_named_by_its_line_or_left_out(kind: str, format: str, cell: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    targets = {"a": "1", "b": cell, "c": "2"}
    path.write_text("".join(ROW[format].format(*row) for row in targets.items()), encoding="utf-8")
    columns = {"source": "t", "target": "y"} if format == "jsonl" else {}
    values: dict[str, Any] = {"task": {"kind": kind}, "data": {"train": str(path), "format": format, **columns}}
    words = "the class is empty" if kind == "classify" else f"the target {cell!r} is not a number"
    with pytest.raises(DataError, match=rf"a:2: {words}.*\(data\.on_error"):
        read_part(recipe_from(values), [str(path)])
    values["data"]["on_error"] = "skip"
    said: list[str] = []
    left = read_part(recipe_from(values), [str(path)], said.append)
    assert [example.words for example in left] == [("a",), ("c",)]
    assert len(said) == 1 and said[0].startswith(f"left out: {path}:2: {words}")


@pytest.mark.parametrize("word", ["null", "NA", "None", "nan", "n/a", "false"])
def test_a_class_may_be_called_anything(word: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(f"a\t{word}\n{word}\tx\n", encoding="utf-8")
    found = read_part(recipe(str(path), task={"kind": "classify"}), [str(path)])
    assert [one.labels["2"] for one in found] == [(word,), ("x",)] and found[1].words[0] in (word, "n")
