"""`regard init` looks at data and says what it read."""

from pathlib import Path

import pytest

from regard.errors import DataError
from regard.init import read_data


def test_iob1_is_read_as_such_and_learnt_as_iob2(tmp_path: Path) -> None:
    (tmp_path / "a.conll").write_text("EU I-ORG\nsays O\n\nAnn I-PER\nBob B-PER\n\n" * 3)
    reading = read_data("label", [str(tmp_path / "a.conll")], tmp_path / "a.toml", format="guess")
    assert (reading.recipe.data.scheme, reading.recipe.output.scheme) == ("IOB1", "IOB2")
    assert reading.told[-1] == "spans are written as IOB1 and learnt as IOB2"
    assert 'scheme = "IOB1"' in reading.text and 'scheme = "IOB2"' in reading.text


def test_parallel_files_are_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\n")
    with pytest.raises(DataError) as raised:
        read_data("classify", [str(tmp_path / "a")], tmp_path / "a.toml", format="parallel")
    assert str(raised.value) == (
        'init looks at one file for each part; in a recipe, data.format = "parallel" names two for each'
    )
