"""Where pictures come from: a folder for each class, a list of paths, NumPy's files, MNIST's (IDX)."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from regard.data.example import Example, Late, Place, Signal
from regard.data.lines import check_file, read_lines
from regard.data.signal.arrays import Npz
from regard.data.signal.csv import looks_like
from regard.data.signal.images import patches
from regard.data.signal.pictures import is_picture, read_picture
from regard.data.signal.reader import TARGET, SignalReader, Wanted
from regard.errors import DataError, nearest

# Pictures up to so many bytes are kept in memory; further ones are read again each time they are needed.
KEPT = 1_000_000_000

# How the column with paths is called where the recipe names none.
PATHS = ("path", "file", "image", "filename")

# The first bytes of MNIST's files, of pictures and of labels, as whole numbers.
_IDX_IMAGES, _IDX_LABELS = 0x803, 0x801


class PictureReader(SignalReader):
    """Reads pictures one after the other, and keeps them while there is room."""

    def __init__(self, wanted: Wanted, check: Callable[[Example], object] = lambda example: None) -> None:
        super().__init__(wanted, check)
        self.room = KEPT

    def signal(self, path: Path) -> Signal:
        """A picture, which is looked at in any case: what cannot be read is named before training begins."""
        pixels = read_picture(path)
        self.room -= pixels.nbytes
        return pixels if self.room >= 0 else Late(str(path), _load, shape=pixels.shape)


def _load(path: str, start: float | None, end: float | None) -> np.ndarray:
    return read_picture(path)


class Folder(PictureReader):
    """A folder with a folder for each class, in which there are pictures; without classes, or one picture, to predict.

    Names that begin with a dot are left out, and files that begin as no picture does.
    """

    name = "folder"

    def read(self, path: str | Path) -> Iterator[Example | DataError]:
        root = Path(path)
        if not root.exists():
            raise DataError(f"there is no folder {path}")
        if not root.is_dir():
            yield from self._file(root, root.parent)
            return
        if self.wanted.answers == "each":
            raise DataError(f"{path} is a folder, which has one class for a picture; labels of patches come from .npz")
        for file in files_in(root):
            yield from self._file(file, root)

    def _file(self, file: Path, root: Path) -> Iterator[Example | DataError]:
        place = Place(str(file), 1)
        try:
            labels = {} if self.wanted.predicting else {TARGET: (_class(file, root),)}
            yield Example((str(file.relative_to(root)),), labels, place, whole=True, signal=self.signal(file))
        except DataError as error:
            yield error


def files_in(root: Path) -> list[Path]:
    """The files below a folder that are no hidden ones, in the order of their names."""
    found = (path for path in root.rglob("*") if path.is_file())
    return sorted(path for path in found if not any(part.startswith(".") for part in path.relative_to(root).parts))


def _class(file: Path, root: Path) -> str:
    parts = file.relative_to(root).parts
    if len(parts) < 2:
        raise DataError(f"{file} lies in no folder of a class; {root} must have a folder for each class")
    return parts[0]


class Manifest(PictureReader):
    """A list of pictures: each line has a path, as seen from the list, and what is learnt of it."""

    def rows(self, path: str | Path) -> Iterator[tuple[int, Mapping[str, str]]]:
        """Each line with its cells by name."""
        raise NotImplementedError

    def read(self, path: str | Path) -> Iterator[Example | DataError]:
        if self.wanted.answers == "each":
            raise DataError(f"{path} is a list, which has one answer for a picture; labels of patches come from .npz")
        for number, cells in self.rows(path):
            place = Place(str(path), number)
            try:
                yield self._example(cells, place)
            except DataError as error:
                yield DataError(f"{place}: {error}")

    def _example(self, cells: Mapping[str, str], place: Place) -> Example:
        source = self._column(cells, self.wanted.source[:1], PATHS, "data.source")
        labels = {}
        if not self.wanted.predicting:
            others = [name for name in cells if name != source][:1]
            targets = [self._column(cells, (target,), (), "data.target") for target in self.wanted.target] or others
            labels = {target: (cells[target],) for target in targets}
        file = Path(place.file).parent / cells[source]
        return Example((cells[source],), labels, place, whole=True, signal=self.signal(file))

    def _column(self, cells: Mapping[str, str], given: Sequence[str | int], usual: Sequence[str], setting: str) -> str:
        names = list(cells)
        if given and isinstance(given[0], int) and 1 <= given[0] <= len(names):
            return names[given[0] - 1]
        wanted = [str(given[0])] if given else [name for name in usual if name in cells] or names[:1]
        if not wanted or wanted[0] not in cells:
            raise DataError(
                f"there is no column {wanted[0] if wanted else 'path'}, named by {setting}; there are "
                f"{', '.join(names)}{nearest(wanted[0], names) if wanted else ''}"
            )
        return wanted[0]


class TsvManifest(Manifest):
    """A list whose cells are parted by tabs; its first line names the columns, unless it names a file that is there."""

    name = "tsv"
    separator = "\t"

    def rows(self, path: str | Path) -> Iterator[tuple[int, Mapping[str, str]]]:
        names: list[str] = []
        for number, line in read_lines(path, self.wanted.encoding_errors):
            if not line.strip():
                continue
            cells = line.split(self.separator)
            if not names:
                headed = self.wanted.header
                if headed is None:
                    headed = not any((Path(path).parent / cell).is_file() for cell in cells if cell)
                names = cells if headed else [str(place) for place in range(1, len(cells) + 1)]
                if headed:
                    continue
            if len(cells) != len(names):
                raise DataError(f"{path}, line {number}: {len(cells)} columns where the list begins with {len(names)}")
            yield number, dict(zip(names, cells, strict=True))


class CsvManifest(TsvManifest):
    """The same with commas; paths hold none."""

    name = "csv"
    separator = ","


class JsonManifest(Manifest):
    """A JSON object on each line."""

    name = "jsonl"

    def rows(self, path: str | Path) -> Iterator[tuple[int, Mapping[str, str]]]:
        for number, line in read_lines(path, self.wanted.encoding_errors):
            if not line.strip():
                continue
            try:
                cells = json.loads(line, parse_int=str, parse_float=str)
            except ValueError as error:
                raise DataError(f"{path}, line {number}: this is no JSON: {error}") from None
            if not isinstance(cells, dict):
                raise DataError(f"{path}, line {number}: no JSON object")
            yield number, {name: cell for name, cell in cells.items() if isinstance(cell, str)}


class NpzImages(Npz):
    """Pictures side by side: images (items, height, width) or (items, height, width, 1 | 3) of 8 or 16 bits, and what
    is learnt: (items,); or for a label of each patch (items, rows, columns), or one of each pixel, of which the most
    frequent in a patch is its label."""

    def example(self, values: np.ndarray, targets: Mapping[str, np.ndarray], place: Place) -> Example:
        if self.wanted.answers != "each":
            return super().example(values, targets, place)
        rows, columns = (-(-size // self.wanted.patch) for size in values.shape[:2])
        labels = {}
        for name, of_item in targets.items():
            of_patches = of_item if of_item.shape == (rows, columns) else _most_frequent(of_item, values, self.wanted)
            labels[name] = tuple(str(label) for label in of_patches.ravel().tolist())
        return Example(patches(rows, columns), labels, place, signal=values)


def _most_frequent(labels: np.ndarray, values: np.ndarray, wanted: Wanted) -> np.ndarray:
    """Of labels of pixels, (height, width), the most frequent of each patch, (rows, columns)."""
    if labels.shape != values.shape[:2]:
        raise DataError(
            f"labels {labels.shape} fit neither the pixels {values.shape[:2]} nor patches of {wanted.patch}"
        )
    starts = [range(0, size, wanted.patch) for size in labels.shape]
    return np.array(
        [
            [_first(labels[top : top + wanted.patch, left : left + wanted.patch]) for left in starts[1]]
            for top in starts[0]
        ]
    )


def _first(labels: np.ndarray) -> object:
    """The most frequent; of equally frequent ones the smallest."""
    counts = Counter(labels.ravel().tolist())
    return min(counts, key=lambda label: (-counts[label], label))


class Idx(SignalReader):
    """MNIST's files: pictures in one (…images…), their labels in another beside it, of the same name with labels.

    Source: LeCun, Cortes & Burges, "The MNIST database", file formats.
    """

    name = "idx"

    def read(self, path: str | Path) -> Iterator[Example | DataError]:
        pixels = read_idx(path, _IDX_IMAGES)
        labels = None if self.wanted.predicting else read_idx(_labels_beside(Path(path)), _IDX_LABELS)
        if labels is not None and len(labels) != len(pixels):
            raise DataError(f"{path} holds {len(pixels)} pictures, but the file beside it {len(labels)} labels")
        for number, picture in enumerate(pixels):
            place = Place(str(path), number + 1)
            known = {} if labels is None else {TARGET: (str(labels[number]),)}
            yield Example((str(place),), known, place, whole=True, signal=picture[..., None])


def _labels_beside(path: Path) -> Path:
    name = re.sub("images", "labels", path.name).replace("idx3", "idx1")
    if name == path.name:
        raise DataError(f"{path}: its labels are looked for beside it, in a file with labels for images in its name")
    return path.with_name(name)


def read_idx(path: str | Path, magic: int) -> np.ndarray:
    """The array in an IDX file, packed or not."""
    check_file(path)
    raw = Path(path).read_bytes()
    try:
        raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        found = int.from_bytes(raw[:4], "big")
        if found != magic:
            raise DataError(f"{path} is no IDX file of this kind: it begins with {found:#x} where {magic:#x} should be")
        shape = tuple(int.from_bytes(raw[4 * at : 4 * at + 4], "big") for at in range(1, 1 + magic % 256))
        return np.frombuffer(raw, dtype=np.uint8, offset=4 + 4 * len(shape)).reshape(shape)
    except (OSError, EOFError, ValueError) as error:
        raise DataError(f"{path} is damaged: {error}") from None


def guess_images(path: str | Path) -> str:
    """The format of pictures: a folder (or one picture), NumPy's, MNIST's, or a list."""
    file = Path(path)
    if file.is_dir():
        return Folder.name
    check_file(file)
    if is_picture(file):
        return Folder.name
    with file.open("rb") as stream:
        first = stream.read(4)
    if first[:2] == b"PK":
        return NpzImages.name
    if first == _IDX_IMAGES.to_bytes(4, "big") or (first[:2] == b"\x1f\x8b" and "idx" in file.name):
        return Idx.name
    line = next((line for _, line in read_lines(path, "replace") if line.strip()), "")
    return JsonManifest.name if line.lstrip().startswith("{") else looks_like(path)


IMAGE_READERS: dict[str, type[SignalReader]] = {
    reader.name: reader for reader in (Folder, CsvManifest, TsvManifest, JsonManifest, NpzImages, Idx)
}
