"""What a long recording takes: a training update and a prediction, with a window and with full attention.

    python bench/long_recording.py 20 --window 8     # minutes
    python bench/long_recording.py 20 --window 0     # full attention

Each run is a process of its own, so that its peak memory is its own. The network has width 64 and 3 blocks; a vector
is of 40 ms, samples are at 8 kHz.
"""

import argparse
import resource
import time

import numpy as np
import torch

from regard.build import build, learn
from regard.data.batching import batches
from regard.data.example import Example, Place
from regard.recipe import recipe_from
from regard.training.objective import summed_loss


def peak() -> float:
    """Gigabytes that the process held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("minutes", type=float)
    parser.add_argument("--window", type=int, default=8, help="0: full attention")
    given = parser.parse_args()
    torch.set_num_threads(1)
    recipe = recipe_from(
        {
            "task": {"kind": "ctc"},
            "data": {"train": "x"},
            "input": {"kind": "speech", "rate": 8000, "bands": 40, "level": "train"},
            "model": {"width": 64, "depth": 3, **({"window": given.window} if given.window else {})},
            "decode": {"beam": 1},
        }
    )
    samples = 0.1 * np.random.default_rng(0).standard_normal(round(given.minutes * 60 * 8000)).astype(np.float32)
    one = Example(("x",), {"text": ("abcd" * 100,)}, Place("made", 1), whole=True, signal=samples)
    predictor = build(recipe, *learn(recipe, [one], ("text",)))
    start, before = time.process_time(), peak()
    next(predictor.predict([one]))
    print(f"predicting: {time.process_time() - start:.1f} s, peak {peak():.2f} GB ({before:.2f} before)")
    start = time.process_time()
    assert predictor.against_streaming is not None or list(predictor.stream(one)) is not None
    print(f"streaming:  {time.process_time() - start:.1f} s ({predictor.against_streaming or 'as it comes'})")
    start = time.process_time()
    predictor.model.train()
    for batch in batches([predictor.item(one)], predictor.batch_tokens):
        summed_loss(predictor.model.output, predictor.model(batch.inputs), batch, 0.0).backward()
    print(f"training:   {time.process_time() - start:.1f} s an update, peak {peak():.2f} GB")


if __name__ == "__main__":
    main()
