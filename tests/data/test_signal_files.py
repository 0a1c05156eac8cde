"""Files of series and pictures: what is read is what was written, and what cannot be read is named with its place."""

import gzip
import json

import numpy as np
import pytest

from regard.data.example import Example, Late, Place, values_of
from regard.data.signal import ahead, image_files
from regard.data.signal.image_files import guess_images
from regard.data.signal.kinds import SIGNALS
from regard.data.signal.reader import Wanted
from regard.errors import DataError

RANDOM = np.random.default_rng(11)
SERIES = [RANDOM.normal(size=(length, 2)).round(3) for length in (3, 5, 2)]
CLASSES = ["a", "b", "a"]


def read(path, kind="vectors", format=None, **wanted):
    readers = SIGNALS[kind].readers
    return list(readers[format or SIGNALS[kind].guess(path)](Wanted(**wanted)).read(path))


def as_ts(missing="?"):
    lines = ["@problemName made", "@timeStamps false", "@classLabel true a b", "@data"]
    for values, label in zip(SERIES, CLASSES, strict=True):
        columns = (",".join(map(str, column)) for column in values.T.tolist())
        lines.append(":".join([*columns, label]))
    return "\n".join(lines).replace(str(SERIES[0][1, 1]), missing)


def as_long(separator=","):
    lines = [separator.join(("item", "x", "y", "class"))]
    for number, (values, label) in enumerate(zip(SERIES, CLASSES, strict=True)):
        lines += [separator.join((f"i{number}", *map(str, row), label)) for row in values.tolist()]
    return "\n".join(lines) + "\n"


def assert_series(found):
    assert [example.labels for example in found] == [{next(iter(found[0].labels)): (label,)} for label in CLASSES]
    for example, values in zip(found, SERIES, strict=True):
        assert np.array_equal(values_of(example.signal), values, equal_nan=True)


def test_ts_long_tables_and_arrays_hold_the_same_series(tmp_path):
    (tmp_path / "made.ts").write_text(as_ts(str(SERIES[0][1, 1])))
    (tmp_path / "packed.ts.gz").write_bytes(gzip.compress((tmp_path / "made.ts").read_bytes()))
    (tmp_path / "long.csv").write_text(as_long())
    (tmp_path / "long.tsv").write_text(as_long("\t"))
    filled = np.full((3, 5, 2), np.nan)
    for number, values in enumerate(SERIES):
        filled[number, : len(values)] = values
    np.savez(tmp_path / "nan.npz", x=filled, y=CLASSES)
    np.savez(tmp_path / "lengths.npz", x=np.nan_to_num(filled), y=CLASSES, lengths=[3, 5, 2])
    np.save(tmp_path / "array.npy", filled)
    np.save(tmp_path / "array.labels.npy", np.array(CLASSES))
    for path in sorted(tmp_path.iterdir()):
        if path.name != "array.labels.npy":
            assert_series(read(path, item="item" if "long" in path.name else None))


def test_a_missing_value_stays_missing(tmp_path):
    (tmp_path / "made.ts").write_text(as_ts())
    (first, *_) = read(tmp_path / "made.ts")
    assert np.isnan(first.signal[1, 1]) and np.isnan(first.signal).sum() == 1
    (tmp_path / "long.csv").write_text("x,y\n1,\n,na\n2,3\n")
    (only,) = read(tmp_path / "long.csv", answers="ahead")
    assert np.array_equal(only.signal, [[1, np.nan], [np.nan, np.nan], [2, 3]], equal_nan=True)
    assert only.columns == ("x", "y")


def test_a_row_may_be_a_series(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("1,2,3,slow\n4,,6,fast\n7,8,,slow\n")
    found = read(path)
    assert [example.labels["label"] for example in found] == [("slow",), ("fast",), ("slow",)]
    assert [example.signal[:, 0].tolist() for example in found][::2] == [[1, 2, 3], [7, 8]]
    assert np.isnan(found[1].signal[1, 0]) and len(found[1].signal) == 3


def test_a_label_for_each_step(tmp_path):
    path = tmp_path / "steps.csv"
    path.write_text("who,x,state\nA,1,up\nA,2,\nB,3,down\nA,4,up\n")
    found = read(path, answers="each", item="who", target=("state",))
    assert [example.labels["state"] for example in found] == [("up", None, "up"), ("down",)]
    assert [example.words for example in found] == [("1", "2", "3"), ("1",)]
    assert [example.signal[:, 0].tolist() for example in found] == [[1, 2, 4], [3]]


FAULTS = {
    "1,2,x\n1,b,y\n": "line 2|:2: 'b' is no number",
    "1,2,x\n1,2\n": "2 columns where the file begins with 3",
}


@pytest.mark.parametrize("text", FAULTS)
def test_a_row_that_cannot_be_read_is_named(text, tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(text)
    good, bad = read(path)
    assert isinstance(good, Example) and isinstance(bad, DataError)
    with pytest.raises(DataError, match=FAULTS[text]):
        raise bad


def test_an_item_with_two_classes_is_named(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("item,x,class\nA,1,up\nA,2,down\nB,3,up\n")
    bad, good = read(path, item="item")
    assert "the item A has several values in column class" in str(bad) and isinstance(good, Example)


def test_ts_faults_are_named(tmp_path):
    path = tmp_path / "made.ts"
    path.write_text("@classLabel true a\n@data\n1,2:3,4:a\n1,2:3:a\n1:a\n")
    good, uneven, narrow = read(path)
    assert isinstance(good, Example)
    assert "here 2, 1 values" in str(uneven) and "1 dimensions where the file begins with 2" in str(narrow)
    path.write_text("@timeStamps true\n@data\n(0,1):a\n")
    with pytest.raises(DataError, match="its values carry their times"):
        read(path)


def test_arrays_that_could_run_code_are_refused(tmp_path):
    path = tmp_path / "objects.npz"
    np.savez(path, x=np.array([[1], [1, 2]], dtype=object), y=[0, 1])
    with pytest.raises(DataError, match=r"cannot read .*objects\.npz"):
        read(path)
    np.savez(path, z=np.zeros((2, 3)))
    with pytest.raises(DataError, match=r"none of x, X, .*; its arrays are z; name it with data\.source"):
        read(path)
    np.savez(path, x=np.zeros((2, 3)), y=[1])
    with pytest.raises(DataError, match="2 items, but 1 in label"):
        read(path)


# Forecasts


def a_series(length=29):
    values = np.arange(length * 2, dtype=float).reshape(length, 2)
    return Example(("s",), place=Place("s", 0), whole=True, signal=values, columns=("p", "q"))


def test_what_is_forecast_follows_what_is_looked_back_at():
    found = list(ahead.windows(a_series(), context=7, horizon=3, columns=("q",)))
    assert len(found) == 29 - 7 - 3 + 1
    for example in found:
        last = example.signal[-1]
        assert example.signal.shape == (7, 2)
        assert [float(value) for value in example.labels["q"]] == [last[1] + 2 * step for step in (1, 2, 3)]
    assert np.array_equal(ahead.asked(a_series(), context=7, horizon=3).signal, a_series().signal[-7:])


def test_no_step_that_is_scored_was_learnt():
    found = ahead.by_time(list(ahead.windows(a_series(), context=5, horizon=3)), (0.3, 0.2))
    steps = [{step for example in part for step in range(example.record.first, example.record.last)} for part in found]
    assert all(steps) and not steps[0] & steps[1] and not steps[1] & steps[2]
    assert max(steps[0]) < min(steps[1]) < max(steps[1]) < min(steps[2]) and max(steps[2]) == 28


def test_a_series_that_is_too_short_is_named():
    with pytest.raises(DataError, match="s:0: 3 steps are too few to forecast 3"):
        list(ahead.windows(a_series(3), context=7, horizon=3))
    (only,) = ahead.windows(a_series(5), context=7, horizon=3)
    assert only.signal.shape == (2, 2)


# Pictures

PICTURES = RANDOM.integers(0, 256, (4, 5, 3), dtype=np.uint8)


def files(folder):
    image = pytest.importorskip("PIL.Image", reason="needs pillow: pip install regard[vision]")
    for number, pixels in enumerate(PICTURES):
        place = folder / "ab"[number % 2]
        place.mkdir(exist_ok=True)
        image.fromarray(pixels).save(place / f"{number}.png")
    (folder / ".hidden").write_text("x")


def test_a_folder_has_a_folder_for_each_class(tmp_path):
    files(tmp_path)
    found = read(tmp_path, "image")
    assert [example.labels["label"][0] for example in found] == ["a", "a", "b", "b"]
    assert all((example.signal[..., 0] == PICTURES[n]).all() for example, n in zip(found, (0, 2, 1, 3), strict=True))
    assert [example.words for example in found] == [("a/0.png",), ("a/2.png",), ("b/1.png",), ("b/3.png",)]
    (one,) = read(tmp_path / "a" / "0.png", "image", predicting=True)
    assert (one.signal[..., 0] == PICTURES[0]).all()


def test_a_file_that_is_no_picture_is_named_and_keeps_its_place(tmp_path):
    files(tmp_path)
    (tmp_path / "a" / "1.png").write_text("no picture")
    found = read(tmp_path, "image")
    assert [isinstance(one, DataError) for one in found] == [False, True, False, False, False]
    assert "cannot read the picture" in str(found[1]) and "a/1.png" in str(found[1])


def test_lists_name_pictures_as_seen_from_the_list(tmp_path):
    files(tmp_path)
    rows = [("a/0.png", "3"), ("b/1.png", "5"), ("a/gone.png", "7")]
    (tmp_path / "list.tsv").write_text("path\tcount\n" + "".join("\t".join(row) + "\n" for row in rows))
    (tmp_path / "list.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    (tmp_path / "list.jsonl").write_text("".join(json.dumps(dict(path=p, count=int(c))) + "\n" for p, c in rows))
    for name in ("list.tsv", "list.csv", "list.jsonl"):
        one, other, gone = read(tmp_path / name, "image")
        assert [next(iter(example.labels.values())) for example in (one, other)] == [("3",), ("5",)]
        assert (other.signal[..., 0] == PICTURES[1]).all()
        assert "there is no file" in str(gone) and name in str(gone)


def idx(array):
    magic = (0x800 + array.ndim).to_bytes(4, "big")
    return magic + b"".join(size.to_bytes(4, "big") for size in array.shape) + array.tobytes()


@pytest.mark.parametrize("packed", [False, True])
def test_mnist_s_files_are_read(packed, tmp_path):
    pack = gzip.compress if packed else bytes
    end = ".gz" if packed else ""
    (tmp_path / f"t-images-idx3-ubyte{end}").write_bytes(pack(idx(PICTURES)))
    (tmp_path / f"t-labels-idx1-ubyte{end}").write_bytes(pack(idx(np.array([7, 1, 1, 0], dtype=np.uint8))))
    path = tmp_path / f"t-images-idx3-ubyte{end}"
    assert guess_images(path) == "idx"
    found = read(path, "image")
    assert [example.labels["label"] for example in found] == [("7",), ("1",), ("1",), ("0",)]
    assert (np.stack([example.signal[..., 0] for example in found]) == PICTURES).all()
    path.write_bytes(pack(idx(PICTURES)[:-3]))
    with pytest.raises(DataError, match="is damaged"):
        read(path, "image")


def test_a_patch_s_label_is_the_most_frequent_of_its_pixels(tmp_path):
    path = tmp_path / "made.npz"
    labels = np.array([[0, 0, 1], [0, 1, 1], [2, 2, 2], [2, 0, 0], [0, 0, 0]])
    np.savez(path, images=PICTURES[:1], labels=labels[None])
    (only,) = read(path, "image", answers="each", patch=2)
    assert only.words == ("1,1", "1,2", "2,1", "2,2", "3,1", "3,2")
    assert only.labels["label"] == ("0", "1", "2", "0", "0", "0")


def test_pictures_beyond_what_is_kept_are_read_again(tmp_path, monkeypatch):
    files(tmp_path)
    monkeypatch.setattr(image_files, "KEPT", 2 * PICTURES[0].nbytes)
    found = read(tmp_path, "image")
    assert [isinstance(example.signal, Late) for example in found] == [False, False, True, True]
    assert (values_of(found[3].signal)[..., 0] == PICTURES[3]).all() and found[3].signal.shape == (5, 3, 1)


def test_every_reader_says_its_own_name():
    for kind in SIGNALS.values():
        assert all(reader.name == name for name, reader in kind.readers.items())
