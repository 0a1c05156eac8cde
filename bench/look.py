"""The page of `regard look` beside BertViz's, on the same weights: size, and how long it takes to open.

    python bench/look.py            # needs playwright and chromium; BertViz is left out where it or IPython is missing

BertViz's page fetches its libraries from the network. Here there is none, so what is measured of it is the time until
the page is read, before anything is drawn: less than a reader waits. Ours is measured until all is drawn.
"""

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
REPEATS = 5
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


def opened(browser, path, ready):
    """Seconds until a page is there, the median of several new tabs."""
    found = []
    for _ in range(REPEATS):
        context = browser.new_context(offline=True)
        tab = context.new_page()
        started = time.perf_counter()
        tab.goto(f"file://{path}", wait_until="load", timeout=300_000)
        if ready:
            tab.wait_for_selector(ready, timeout=300_000)
        found.append(time.perf_counter() - started)
        context.close()
    return statistics.median(found)


def browser_of(running):
    for given in ({}, {"executable_path": "/usr/bin/chromium"}):
        try:
            return running.chromium.launch(args=["--no-sandbox", "--disable-gpu"], **given)
        except Error:
            continue
    raise SystemExit("needs chromium: playwright install chromium, or that of the system")


def main():
    print("layers x heads x tokens\tregard, MB\topens, s\tBertViz, MB\tis read, s\tsmaller\tfaster")
    with sync_playwright() as running, tempfile.TemporaryDirectory() as folder:
        browser = browser_of(running)
        for size in SIZES:
            row = [" x ".join(map(str, size))]
            for name, text, ready in (("ours", ours(*size), "body[data-ready]"), ("theirs", theirs(*size), "")):
                if text is None:
                    row += ["-", "-"]
                    continue
                path = Path(folder) / f"{name}.html"
                path.write_text(text, encoding="utf-8")
                row += [path.stat().st_size / 1e6, opened(browser, path, ready)]
            row += [row[3] / row[1], row[4] / row[2]] if row[3] != "-" else ["-", "-"]
            print("\t".join(cell if isinstance(cell, str) else f"{cell:.2f}" for cell in row), flush=True)
        browser.close()


if __name__ == "__main__":
    main()
