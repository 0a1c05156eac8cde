"""What every page and every curve must keep to."""

import base64
import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from regard.page import code, curve, page, pairs, paragraph, section, shown, table

Points = Sequence[tuple[float, float]]
SVG = "{http://www.w3.org/2000/svg}"
NASTY = '<b onclick="x">&\'\x00\ud800</b>'

ODD: dict[str, Mapping[str, Points]] = {
    "no series": {},
    "an empty series": {"a": []},
    "one point": {"a": [(3, 5)]},
    "one point at zero": {"a": [(0, 0)]},
    "the same value": {"a": [(1, 7), (2, 7), (3, 7)]},
    "all at one x": {"a": [(1, 2), (1, 3)]},
    "not a number": {"a": [(1, math.nan), (2, 3), (3, math.inf), (4, 5), (math.nan, 1)]},
    "nothing but not a number": {"a": [(1, math.nan)], "b": [(1, -math.inf)]},
    "huge": {"a": [(0, 1e120), (1e140, -1e149)]},
    "beyond huge": {"a": [(0, 1e308), (1, -1e308), (2, 3)]},
    "tiny": {"a": [(0, 5e-324), (1e-300, 1e-200)], "b": [(0, 1e-30), (1e-9, 3e-30)]},
    "far from zero": {"a": [(1e9, 1e15), (1e9 + 1, 1e15 + 1)]},
    "negative": {"a": [(-17, -5), (-3, -2)]},
    "whole numbers": {"a": [(1, 2), (3, 5)]},
    "backwards": {"a": [(3, 1), (2, 5), (1, 2)]},
    "more series than hues": {f"s{i}": [(0, i), (1, i + 1)] for i in range(41)},
    "very many points": {"a": [(i, math.sin(i)) for i in range(20011)]},
    "long and nasty names": {NASTY * 9: [(1, 2)], "注意力" * 31: [(2, 3)]},
}


def drawn(series: Mapping[str, Points], **more: Mapping[str, float]) -> ElementTree.Element:
    return ElementTree.fromstring(curve(series, title="loss", x_label="step", y_label="nats", **more))


def words(picture: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in picture.iter(f"{SVG}text")]


def whole(script: str = "") -> str:
    parts = [paragraph("words"), table(["a", "b"], [["x", 1.5]]), code("x = 1"), pairs({"machine": "one"})]
    picture = curve({"loss": [(1, 2), (2, 1)]}, title="t", x_label="x", y_label="y", levels={"floor": 1.0})
    return page("title", section("heading", *parts, picture, note="note"), subtitle="below", script=script)


def test_text_is_escaped() -> None:
    parts = [
        section(NASTY, paragraph(NASTY), code(NASTY), note=NASTY),
        pairs({NASTY: NASTY}),
        table([NASTY], [[NASTY]]),
        curve({NASTY: [(1, 2)]}, title=NASTY, x_label=NASTY, y_label=NASTY, levels={NASTY: 1.0}),
    ]
    written = page(NASTY, *parts, subtitle=NASTY)
    assert "<b " not in written and "</b>" not in written and "\x00" not in written
    assert "&lt;b onclick=&quot;" in written
    written.encode("utf-8")


def test_a_page_makes_no_network_request() -> None:
    written = whole("let x = 1").replace('xmlns="http://www.w3.org/2000/svg"', "")
    for way_out in ("http:", "https:", "src=", "url(", "@import", "//"):
        assert way_out not in written
    assert set(re.findall(r'href="([^"]*)"', written)) == {"data:,"}


def test_a_page_allows_nothing_but_its_own_style_and_script() -> None:
    base = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert f'content="{base}"' in whole()
    script = "say('</SCRIPT><!--')\r\nsay(2)"
    written = whole(script)
    inside = written[written.index("<script>") + 8 : written.index("</script>")]
    digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
    assert f"content=\"{base}; script-src 'sha256-{digest}'\"" in written
    assert inside == "say('<\\/SCRIPT><\\!--')\nsay(2)"


def test_a_page_says_its_language_letters_and_width() -> None:
    written = whole()
    assert written.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert '<meta charset="utf-8">' in written and "width=device-width" in written
    assert "prefers-color-scheme:dark" in written


def test_every_hue_has_a_dark_twin() -> None:
    light, dark = whole().split("@media(prefers-color-scheme:dark)")[:2]
    used = set(re.findall(r"var\((--\w+)\)", whole()))
    names = set(re.findall(r"(--\w+):#", light))
    assert used <= names == set(re.findall(r"(--\w+):#", dark))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.123456, "0.1235"),
        (12345.6, "12350"),
        (1e-5, "1e-5"),
        (2.5e10, "2.5e10"),
        (2.0, "2"),
        (123456, "123456"),
        (True, "yes"),
        (None, "–"),
        (math.nan, "nan"),
        ("0.10", "0.10"),
    ],
)
def test_a_number_has_at_most_four_significant_places(value: object, text: str) -> None:
    assert shown(value) == text


def test_numbers_stand_to_the_right_and_words_to_the_left() -> None:
    rows: list[list[object]] = [["dot", 1.5, "27.1 ± 0.3", 3, "1e-3"], ["sum", None, "28.0 ± 0.2", math.nan, "12 %"]]
    tree = ElementTree.fromstring(table(["name", "a", "b", "c", "d"], rows))
    for row in tree.iter("tr"):
        assert [cell.get("class") for cell in row] == [None, *["number"] * 4]


def test_a_table_scrolls_in_its_own_box_and_marks_one_row() -> None:
    tree = ElementTree.fromstring(table(["a"], [[1], [2], [3]], highlight=1))
    assert tree.get("class") == "scroll"
    assert [row.get("class") for row in tree.iter("tr")] == [None, None, "best", None]


def test_an_empty_table_says_so() -> None:
    assert "nothing to show" in table(["a", "b"], [])


@pytest.mark.parametrize("series", ODD.values(), ids=ODD.keys())
@pytest.mark.parametrize("levels", [{}, {"floor": 0.0}, {"a": 3.0, "b": 3.0, "c": math.nan, "d": 1e5}])
def test_curves_survive_odd_series(series: Mapping[str, Points], levels: Mapping[str, float]) -> None:
    picture = drawn(series, levels=levels)
    bottom = float(picture.get("viewBox", "").split()[3])
    for line in picture.iter(f"{SVG}polyline"):
        for point in line.get("points", "").split():
            x, y = map(float, point.split(","))
            assert 0 <= x <= 540 and 0 <= y <= bottom
    assert not any("nan" in word or "inf" in word for word in words(picture))


@pytest.mark.parametrize("series", ODD.values(), ids=ODD.keys())
def test_an_axis_has_four_to_six_names_that_differ(series: Mapping[str, Points]) -> None:
    texts = list(drawn(series).iter(f"{SVG}text"))
    beside = [text.text for text in texts if text.get("text-anchor") == "end"]
    assert 4 <= len(beside) == len(set(beside)) <= 6


def test_ticks_are_round() -> None:
    texts = list(drawn({"a": [(0, 0.3), (87, 4.1)]}).iter(f"{SVG}text"))
    assert [text.text for text in texts if text.get("text-anchor") == "end"] == ["0", "1", "2", "3", "4", "5"]
    assert [text.text for text in texts if text.get("text-anchor") == "middle"] == [
        "0",
        "20",
        "40",
        "60",
        "80",
        "100",
        "step",
    ]


def test_no_two_lines_share_hue_and_dashes() -> None:
    picture = drawn({f"s{i}": [(0, i), (1, i + 1)] for i in range(31)}, levels={"one": 1.0, "two": 2.0})
    lines = [line for line in picture.iter(f"{SVG}polyline") if line.get("stroke-width") != "1"]
    styles = {(line.get("stroke"), line.get("stroke-dasharray")) for line in lines}
    assert len(styles) == 33 and len(lines) == 66  # once in the picture, once in the legend


def test_the_legend_stands_under_every_line() -> None:
    picture = drawn({"a": [(0, 1), (1, 2)], "b": [(0, 3), (1, 1)]}, levels={"floor": 0.5})
    names = {text.text: float(text.get("y", "")) for text in picture.iter(f"{SVG}text")}
    step = names["step"]
    assert all(names[name] > step for name in ("a", "b", "floor: 0.5"))


def test_a_band_has_its_line_s_hue_and_is_within_the_axes() -> None:
    bands = {"a": [(0.0, -3.0, 1.0), (2.0, 5.0, 9.0)], "b": [(1.0, math.nan, 2.0)], "c": [(1.0, 0.0, 2.0)]}
    picture = ElementTree.fromstring(
        curve({"a": [(0, 0), (2, 7)], "c": [(1, 1)]}, title="t", x_label="x", y_label="y", bands=bands)
    )
    (band,) = picture.iter(f"{SVG}polygon")  # one place alone is no band
    line = next(line for line in picture.iter(f"{SVG}polyline") if line.get("stroke-width") == "2.2")
    assert band.get("fill") == line.get("stroke")
    heights = [float(point.split(",")[1]) for point in band.get("points", "").split()]
    assert len(heights) == 4 and all(68 <= height <= 318 for height in heights)


def test_close_levels_are_written_apart() -> None:
    picture = drawn({"a": [(0, 0), (1, 9)]}, levels={"one": 3.01, "two": 3.02, "three": 3.03})
    heights = [float(text.get("y", "")) for text in picture.iter(f"{SVG}text") if text.text in ("3.01", "3.02", "3.03")]
    assert len(heights) == 3 and min(b - a for a, b in pairwise(heights)) >= 17


def test_a_curve_can_be_heard() -> None:
    picture = drawn({"training": [(1, 4), (9, 2)], "empty": []}, levels={"guess": 3.5})
    assert picture.get("role") == "img"
    assert picture.findtext(f"{SVG}title") == "loss"
    told = picture.findtext(f"{SVG}desc")
    assert told == "nats over step. training: 4 at 1 to 2 at 9; empty: no points; dashed line guess: 3.5"


def test_very_many_points_keep_their_extremes_in_few_lines() -> None:
    points = [(float(i), 0.0) for i in range(50021)]
    points[31337] = (31337.0, 1.0)
    picture = curve({"a": points}, title="t", x_label="x", y_label="y")
    assert len(picture) < 40_000
    assert re.search(r"\d,68\.0", picture.split('stroke-width="2.2"')[0].rsplit("<polyline", 1)[1])
