"""One thread against two, alone and beside a busy process: `python bench/threads.py`. Prints updates per second."""

import multiprocessing
import os
import statistics
import subprocess
import sys
import time

REPEATS, UPDATES = 3, 60

TRAIN = """
import sys, time
import torch
from regard.build import build, learn_targets
from regard.inputs import learn_tokenizer
from regard.data.batching import collate, plan
from regard.data.example import Example
from regard.demo.grammar import sentences
from regard.recipe import recipe_from
from regard.training.objective import known_labels, training_loss

width, updates = int(sys.argv[1]), int(sys.argv[2])
examples = [Example(words, {"upos": tags}) for words, tags in sentences(3000, 1)]
recipe = recipe_from({"data": {"train": "-"}, "model": {"width": width, "depth": 2, "heads": 2}})
made = build(recipe, learn_tokenizer(recipe, examples), learn_targets(recipe, examples, ("upos",)))
items = [made.item(example) for example in examples]
batches = [collate(items, numbers) for numbers in plan([item.length for item in items], 512, seed=1)]
optimizer = torch.optim.AdamW(made.model.parameters(), fused=True)
made.model.train()
for number in range(updates + 5):
    if number == 5:
        started = time.monotonic()
    batch = batches[number % len(batches)]
    optimizer.zero_grad()
    loss = training_loss(made.model, batch, 0.0) / known_labels([batch])
    loss.backward()
    optimizer.step()
print(updates / (time.monotonic() - started))
"""


def rate(width, threads):
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    words = [sys.executable, "-c", TRAIN, str(width), str(UPDATES)]
    return float(subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout)


def spin(until):
    while time.monotonic() < until:
        pass


def main():
    print(f"{os.cpu_count()} cores; updates per second, medians of {REPEATS} interleaved repeats")
    for busy in (False, True):
        other = multiprocessing.Process(target=spin, args=(time.monotonic() + 3600,)) if busy else None
        if other:
            other.start()
        for width in (48, 160):
            found = {threads: [] for threads in (1, 2)}
            for _ in range(REPEATS):
                for threads, rates in found.items():
                    rates.append(rate(width, threads))
            one, two = (statistics.median(rates) for rates in found.values())
            beside = "beside a busy process" if busy else "alone"
            print(f"width {width:>3} {beside}: 1 thread {one:.1f}, 2 threads {two:.1f}, ratio {two / one:.2f}")
        if other:
            other.terminate()


if __name__ == "__main__":
    main()
