"""The page of `regard look` beside BertViz's, on the same weights: size, and how long it takes until all is drawn.

    python bench/look.py [LIBRARIES]

needs playwright and chromium; BertViz is left out where it or IPython is missing. Its page fetches d3.min.js (5.7.0),
jquery.min.js (2.1.0) and require.min.js (2.3.6) from the network; LIBRARIES is a folder that has them, so that a slow
network does not count. Without it what is measured of BertViz is the time until its page is read, before it is drawn.
"""

import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch
from playwright.sync_api import Error, sync_playwright

from regard.look.axis import Tokens
from regard.look.pool import Extent, Pool
from regard.look.view import Part, View, page

SIZES = ((6, 8, 30), (12, 12, 100), (6, 8, 2000))
REPEATS = 3
# BertViz's page of the last size would have 192 million numbers written out.
MOST_OF_THEIRS = 12 * 12 * 100 * 100


def weights_of(layers, heads, count):
    """Sharp weights of made-up words, layer by layer: (1, heads, count, count)."""
    for layer in range(layers):
        random = torch.Generator().manual_seed(layer)
        yield (3 * torch.randn(1, heads, count, count, generator=random)).softmax(-1)


def ours(layers, heads, count):
    names = Tokens(tuple(f"token{number}" for number in range(count)))
    maps = []
    for layer, weights in enumerate(weights_of(layers, heads, count)):
        pool = Pool(f"encoder.blocks.{layer}.attention", Extent.of(count), Extent.of(count), own=True)
        pool.take(weights, slice(0, count))
        maps.append(pool.map)
    return page([View("made-up words", [], [Part("encoder", names, names, maps)])])


def theirs(layers, heads, count):
    """BertViz's model view, or None where it is not installed or would be too large."""
    if layers * heads * count**2 > MOST_OF_THEIRS:
        return None
    try:
        from bertviz import model_view
    except ImportError as missing:
        print(f"BertViz is left out: {missing}", file=sys.stderr)
        return None
    tokens = [f"token{number}" for number in range(count)]
    return model_view(list(weights_of(layers, heads, count)), tokens, html_action="return").data


def opened(browser, path, drawn, libraries=None):
    """Seconds until a page is there, the median of several new tabs. drawn: waits for it, gives what was too much"""
    found = []
    for _ in range(REPEATS):
        context = browser.new_context()
        context.route(re.compile("^https?:"), lambda route: answered(route, libraries))
        tab = context.new_page()
        started = time.perf_counter()
        tab.goto(f"file://{path}", wait_until="load", timeout=600_000)
        too_much = drawn(tab)
        found.append(time.perf_counter() - started - too_much)
        context.close()
    return statistics.median(found)


def answered(route, libraries):
    """What a page asks of the network comes from a folder, or not at all."""
    name = route.request.url.rpartition("/")[2].partition("?")[0]
    if libraries and (libraries / name).is_file():
        route.fulfill(path=libraries / name)
    else:
        route.abort()


def ours_drawn(tab):
    tab.wait_for_selector("body[data-ready]", timeout=600_000)
    return 0.0


def theirs_drawn(tab):
    """BertViz does not say when it has done: it has when its lines have not become more for half a second."""
    count, since = 0, time.perf_counter()
    while True:
        tab.wait_for_timeout(50)
        now = tab.evaluate("document.querySelectorAll('svg line, svg path').length")
        if now != count:
            count, since = now, time.perf_counter()
        elif count and time.perf_counter() - since > 0.5:
            return time.perf_counter() - since


def read_only(tab):
    return 0.0


def browser_of(running):
    for given in ({}, {"executable_path": "/usr/bin/chromium"}):
        try:
            return running.chromium.launch(args=["--no-sandbox", "--disable-gpu"], **given)
        except Error:
            continue
    raise SystemExit("needs chromium: playwright install chromium, or that of the system")


def main():
    libraries = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    until = "opens, s" if libraries else "is read, s"
    print(f"layers x heads x tokens\tregard, MB\topens, s\tBertViz, MB\t{until}\tsmaller\tfaster")
    with sync_playwright() as running, tempfile.TemporaryDirectory() as folder:
        browser = browser_of(running)
        for size in SIZES:
            row = [" x ".join(map(str, size))]
            for name, text, drawn in (
                ("ours", ours(*size), ours_drawn),
                ("theirs", theirs(*size), theirs_drawn if libraries else read_only),
            ):
                if text is None:
                    row += ["-", "-"]
                    continue
                path = Path(folder) / f"{name}.html"
                path.write_text(text, encoding="utf-8")
                row += [path.stat().st_size / 1e6, opened(browser, path, drawn, libraries)]
            row += [row[3] / row[1], row[4] / row[2]] if row[3] != "-" else ["-", "-"]
            print("\t".join(cell if isinstance(cell, str) else f"{cell:.2f}" for cell in row), flush=True)
        browser.close()


if __name__ == "__main__":
    main()
