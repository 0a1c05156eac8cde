"""The page as a reader uses it: every view is clicked through, and what it shows is what Python knows."""

import csv
import io
import re

import numpy as np
import pytest
import written
from sharp import draw
from test_independence import predictor_for

from regard.data.example import Example
from regard.look.axis import Columns, Grid, Sound, Tokens
from regard.look.look import look
from regard.look.measure import merged
from regard.look.pool import Extent, Pool
from regard.look.view import Part, View, page

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install regard[test]")

WORDS = ("the", "light", "can", "light", "the")
# Weights are shown within 1/255 of their row's largest, and rounded to three digits.
NEAR = 1 / 255 + 5e-4


def _browser(running):
    """Playwright's own Chromium, or that of the system."""
    for given in ({}, {"executable_path": "/usr/bin/chromium"}):
        try:
            return running.chromium.launch(args=["--no-sandbox", "--disable-gpu", "--disable-quic"], **given)
        except playwright.Error:
            continue
    pytest.skip("needs a browser: playwright install chromium, or chromium from the system")


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as running:
        opened = _browser(running)
        yield opened
        opened.close()


class Page:
    """An opened page that has asked for nothing and complained of nothing."""

    def __init__(self, browser, path, text, address="", **given):
        (path / "page.html").write_text(text, encoding="utf-8")
        self.context = browser.new_context(accept_downloads=True, **given)
        self.tab = self.context.new_page()
        self.asked, self.complaints = [], []
        self.tab.on("request", lambda request: self.asked.append(request.url))
        self.tab.on(
            "console", lambda said: self.complaints.append(said.text) if said.type in ("error", "warning") else None
        )
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.goto(f"file://{path}/page.html{address}")
        self.tab.wait_for_selector("body[data-ready]")

    def text(self, selector):
        return self.tab.locator(selector).inner_text()

    def address(self):
        """What stands behind the #, asked of the page itself: Playwright hears of it a moment later."""
        return self.tab.evaluate("location.hash")

    def click(self, name):
        self.tab.get_by_role("button", name=name, exact=True).click()

    def downloaded(self, name):
        with self.tab.expect_download() as found:
            self.click(name)
        return found.value.path().read_bytes(), found.value.suggested_filename

    def numbers(self):
        """The weights that are shown, as CSV says them: names of columns, names of rows, numbers."""
        rows = list(csv.reader(io.StringIO(self.downloaded("CSV")[0].decode())))
        return (
            rows[0][1:],
            [row[0] for row in rows[1:]],
            np.array([[float(cell) for cell in row[1:]] for row in rows[1:]]),
        )

    def close(self):
        assert not self.complaints
        assert all(url.startswith(("file:", "data:", "blob:")) for url in self.asked)
        self.context.close()


@pytest.fixture
def opened(browser, tmp_path):
    pages = []

    def opening(text, address="", **given):
        pages.append(Page(browser, tmp_path, text, address, **given))
        return pages[-1]

    yield opening
    for one in pages:
        one.close()


@pytest.fixture(scope="module")
def found():
    return look(predictor_for("words", {"depth": 2, "heads": 2}), Example(WORDS))


@pytest.fixture(scope="module")
def text(found):
    return found.page()


def assert_near(shown, wanted):
    wanted = np.asarray(wanted)
    assert shown.shape == wanted.shape
    assert (np.abs(shown - wanted) <= NEAR * wanted.max(-1, keepdims=True) + 5e-4).all()


def test_every_head_shows_its_own_weights_in_every_view(opened, found, text):
    page = opened(text)
    for layer, weights in enumerate(found.weights.values(), 1):
        for head in range(len(weights)):
            page.tab.locator(f'[data-head="{layer}.{head + 1}"]').click()
            for name in ("Matrix", "Lines"):
                page.click(name)
                columns, rows, numbers = page.numbers()
                assert columns == rows == list(WORDS)
                assert_near(numbers, weights[head])
                assert page.tab.locator("#figures svg").count() == 1
            chip = page.tab.locator(f'[data-head="{layer}.{head + 1}"] .chip').inner_text()
            assert chip in page.text("#chosen-title")
            for sentence in found.effects[list(found.weights)[layer - 1]][head].sentences(WORDS):
                assert sentence in page.text("#worth")


def test_a_click_on_an_element_shows_its_numbers(opened, found, text):
    page = opened(text, "#layer=2&head=1&view=matrix")
    weights = list(found.weights.values())[1][0]
    drawing = page.tab.locator("#figures svg")
    for row in (3, 1):
        label = drawing.locator("text").nth(row)  # rows are named first
        box = label.bounding_box()
        page.tab.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.tab.mouse.move(1, 1)
        assert f"“{WORDS[row]}” looks at" in page.text("#numbers")
        shown = page.tab.locator("#numbers [data-weight]").evaluate_all(
            "all => all.map(cell => Number(cell.dataset.weight))"
        )
        assert_near(np.array(shown), np.sort(weights[row].numpy())[::-1])
        assert f"row={row + 1}" in page.address()


def test_keys_move_between_heads_layers_and_elements(opened, text):
    page = opened(text, "#layer=1&head=1")
    for key, wanted in (
        ("ArrowRight", "head=2"),
        ("PageDown", "layer=2"),
        ("ArrowDown", "row=1"),
        ("ArrowDown", "row=2"),
        ("m", "view=matrix"),
        ("l", "view=lines"),
    ):
        page.tab.keyboard.press(key)
        assert wanted in page.address(), key
    page.tab.keyboard.press("Escape")
    assert "row" not in page.address()


def test_the_address_is_a_link_to_what_was_chosen(opened, text):
    page = opened(text, "#part=encoder&layer=1&head=2&view=matrix&row=4")
    assert "layer 1 of 2, head 2 of 2" in page.text("#chosen-title") and "“light” looks at" in page.text("#numbers")
    wrong = opened(text, "#part=nothing&layer=99&head=-1&view=<b>&row=x")
    assert "layer 2 of 2" in wrong.text("#chosen-title")


def test_what_is_saved_is_what_is_shown(opened, text):
    page = opened(text, "#layer=1&head=1&view=matrix")
    drawing, name = page.downloaded("SVG")
    assert name == "encoder-layer-1-head-1.svg"
    shown = page.tab.locator("#figures svg").evaluate("svg => new XMLSerializer().serializeToString(svg)")
    paths = re.compile(r' d="([^"]*)"[^>]* fill="([^"]*)"')
    assert paths.findall(drawing.decode()) == paths.findall(shown) != []
    picture, name = page.downloaded("PNG")
    assert picture[:8] == b"\x89PNG\r\n\x1a\n" and name.endswith(".png")
    width = int.from_bytes(picture[16:20], "big")
    assert abs(width - 2 * float(re.search(r'width="([\d.]+)"', drawing.decode())[1])) <= 2


def test_writing_is_followed_step_by_step(opened):
    predictor = written.predictor()
    example = written.examples(1)[0]
    found = look(predictor, example)
    page = opened(found.page(), "#part=cross&view=matrix")
    cross = next(iter(found.layers("cross")))
    for step in (1, len(found.written) + 1):
        page.tab.locator("#step-slider").fill(str(step))
        _, rows, numbers = page.numbers()
        assert len(rows) == step
        assert_near(numbers, found.weights[cross][int(re.search(r"head=(\d)", page.address())[1]) - 1][:step])
        assert found.steps[step - 1][0][0].strip() in page.text("#step")
    for part in ("Encoder", "Decoder", "Cross"):
        page.click(part)
        assert page.tab.locator("#figures svg").count() == 1


def test_pieces_are_merged_to_words_and_the_page_says_so(opened):
    predictor = predictor_for("subwords", {"depth": 1})
    found = look(predictor, Example(("lightest", "unbelievable", "can")))
    page = opened(found.page(), "#layer=1&head=2&view=matrix")
    (weights,) = found.weights.values()
    columns, _, numbers = page.numbers()
    assert columns == ["lightest", "unbelievable", "can"]
    assert np.abs(numbers - merged(weights[1], found.read.words, found.read.words).numpy()).max() < 2 * NEAR
    assert "looks as their mean" in page.text("#bar")
    page.click("Pieces")
    assert page.numbers()[0] == list(found.tokens) and len(found.tokens) > 3


def test_two_inputs_stand_side_by_side_each_with_its_own_numbers(opened, found):
    other = look(predictor_for("words", {"depth": 2, "heads": 2}), Example(("a", "can", "can")))
    page = opened(found.page(other), "#layer=2&head=2&view=matrix")
    assert page.tab.locator("#figures svg").count() == 2
    tables = page.downloaded("CSV")[0].decode().strip().split("\r\n\r\n")
    for one, text in zip((found, other), tables, strict=True):
        rows = list(csv.reader(io.StringIO(text)))
        assert_near(np.array([[float(cell) for cell in row[1:]] for row in rows[1:]]), list(one.weights.values())[1][1])
    assert "2. Cutting" in page.text("#worth")


def test_tokens_of_any_script_stay_in_their_rows(opened):
    """Case B68, with marks alone, markup and blanks."""
    names = ("שלום", "עולם", "12", "abc", "هذا", "اختبار", "一个", "\u0301", "<b>x</b>", " ")
    weights = (3 * draw(1, 1, 10, 10)).softmax(-1)
    pool = Pool("encoder.blocks.0.attention", Extent.of(10), Extent.of(10), own=True)
    pool.take(weights, slice(0, 10))
    side = Tokens(names)
    opened_page = opened(page([View("שלום", [], [Part("encoder", side, side, [pool.map])])]), "#view=matrix")
    columns, rows, numbers = opened_page.numbers()
    assert rows == columns == [*names[:7], "◌\u0301", "<b>x</b>", "␣"]
    assert_near(numbers, weights[0, 0])
    labels = opened_page.tab.locator("#figures svg text").all_text_contents()[:10]
    assert labels == rows
    places = [
        box["y"] for box in (opened_page.tab.locator("#figures svg text").nth(n).bounding_box() for n in range(10))
    ]
    assert places == sorted(places)


def test_a_long_input_is_pooled_and_names_single_elements(opened):
    count = 431
    weights = (4 * draw(1, 1, count, count)).softmax(-1)
    pool = Pool("encoder.blocks.0.attention", Extent.of(count), Extent.of(count), own=True)
    pool.take(weights, slice(0, count))
    side = Tokens(tuple(f"t{number}" for number in range(count)))
    shown = opened(page([View("long", [], [Part("encoder", side, side, [pool.map])])]), "#row=7")
    row, column = divmod(int(pool.map.where[0, 6, pool.map.cells[0, 6].argmax()]), count)
    assert f"largest: t{row} ({row + 1}) → t{column} ({column + 1})" in shown.text("#numbers")
    assert "each place shows the largest weight of 3 × 3 elements" in shown.text("footer")


DOT = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010800000000"
    "3a7e9b550000000a49444154789c63600000000200014873d97e0000000049454e44ae426082"
)


@pytest.mark.parametrize(
    ("axis", "views"),
    [
        (Grid(3, 5, DOT), ["Picture", "Matrix"]),
        (
            Sound(tuple(0.1 * n for n in range(16)), np.random.default_rng(0).random((7, 45)), b"RIFF"),
            ["Lines", "Matrix"],
        ),
        (Columns(tuple(f"c{n}" for n in range(15)), tuple(range(15))), ["Lines", "Matrix"]),
    ],
    ids=["picture", "sound", "columns"],
)
def test_pictures_sounds_and_columns_have_views_too(opened, axis, views):
    weights = (3 * draw(1, 2, 15, 15)).softmax(-1)
    pool = Pool("encoder.blocks.0.attention", Extent.of(15), Extent.of(15), own=True)
    pool.take(weights, slice(0, 15))
    shown = opened(page([View("x", [], [Part("encoder", axis, axis, [pool.map])])]), "#head=2")
    for name in views:
        shown.click(name)
        assert_near(shown.numbers()[2], weights[0, 1])
    if isinstance(axis, Grid):
        shown.click("Picture")
        shown.tab.locator("#figures svg").scroll_into_view_if_needed()
        box = shown.tab.locator("#figures svg").bounding_box()
        shown.tab.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.5)
        assert "row=8" in shown.address() and "“row 2, column 3” looks at" in shown.text("#numbers")


@pytest.mark.parametrize(
    "given", [{"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 800}}], ids=["dark", "narrow"]
)
def test_nothing_is_wider_than_the_page_in_the_dark_or_on_a_phone(opened, text, given):
    shown = opened(text, "#view=matrix", **given)
    wide = shown.tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0
    paper = shown.tab.evaluate("getComputedStyle(document.body).backgroundColor")
    dark = sum(map(int, re.findall(r"\d+", paper)[:3])) < 200
    assert dark == (given.get("color_scheme") == "dark")


def test_who_does_not_see_the_picture_is_told_what_it_shows(opened, found, text):
    shown = opened(text, "#layer=2&head=1")
    said = shown.tab.locator("#figures svg").get_attribute("aria-label")
    weights = list(found.weights.values())[1][0]
    best = WORDS[int(weights[2].argmax())]
    assert f"can looks most at {best}" in said
    assert shown.tab.locator("button.thumb").first.get_attribute("aria-label").startswith("layer 1, head 1: ")
    shown.tab.locator("#all-numbers summary").click()
    shown.tab.locator("#all-numbers td").first.wait_for()
    assert shown.tab.locator("#all-numbers td").count() == len(WORDS) ** 2


def test_a_notebook_holds_several_pages_beside_each_other(browser, tmp_path, found):
    frames = found._repr_html_() * 2
    (tmp_path / "notebook.html").write_text(f"<!DOCTYPE html><meta charset=utf-8>{frames}", encoding="utf-8")
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(f"file://{tmp_path}/notebook.html")
    for number in (0, 1):
        inside = tab.frame_locator("iframe").nth(number)
        inside.locator("body[data-ready]").wait_for()
        inside.get_by_role("button", name="Matrix", exact=True).click()
        assert inside.locator("#figures svg").count() == 1
    context.close()
