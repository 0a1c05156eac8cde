"""Writing texts, ours against others' with the same weights: one thread, interleaved.

    sh bench/decoding_peers.sh peers          (once: Hugging Face and CTranslate2 in an environment of their own)
    python bench/decoding.py RUN SOURCE REFERENCE [--peers peers/bin/python] [--lines 1000] [--repeats 5] [--only bs64]

RUN is a run with post-norm blocks, sinusoidal positions, sub-words and one table for all (model.norm_place = "after",
model.position = "sinusoidal", output.share = "all"), whose weights become a MarianMT model and, from that, one of
CTranslate2. Every system is a process of its own that waits while another one works; each gets the same pieces, sorted
by length, and the same longest length. Prints sentences per second of processor time (medians), theirs under ours as
factors, BLEU, the memory each took beyond what it had before it wrote, and the versions. Ours includes cutting lines
into pieces and putting pieces together, the others' do not.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import import_module, metadata
from pathlib import Path

LONGEST = 60

# What is asked: its name -> (items at once, beams).
WAYS = {"bs64 beam5": (64, 5), "bs64 greedy": (64, 1), "bs1 beam5": (1, 5), "bs1 greedy": (1, 1)}

# Alone, one after the other, only every so many-th line is written.
EVERY = {64: 1, 1: 10}


# Each system: (folder with run, weights and pieces) -> (numbers of items, items at once, beams) -> pieces or lines.


def ours(folder, **decode):
    from regard.run import load

    told = json.loads((folder / "told.json").read_text())
    lines = (folder / "lines.txt").read_text(encoding="utf-8").split("\n")

    def write(numbers, at_once, beam):
        settings = {"decode.beam": beam, "decode.at_once": at_once, "decode.max_length": LONGEST}
        settings |= {f"decode.{key}": value for key, value in decode.items() if beam > 1}
        run = load(told["run"]).decoding(settings)
        if at_once == 1:  # as whoever has one item at a time
            return lambda: [run.predict([lines[number]])[0].text for number in numbers]
        return lambda: [answer.text for answer in run.predict([lines[number] for number in numbers])]

    return write


def marian(folder):
    """The run's weights as Hugging Face's MarianMT model."""
    import torch
    from safetensors.torch import load_file
    from transformers import MarianConfig, MarianMTModel

    told = json.loads((folder / "told.json").read_text())
    weights = load_file(told["weights"])
    table = weights["input.pieces.table.weight"]
    config = MarianConfig(
        vocab_size=len(table),
        d_model=table.shape[1],
        encoder_layers=told["depth"],
        decoder_layers=told["depth"],
        encoder_attention_heads=told["heads"],
        decoder_attention_heads=told["heads"],
        encoder_ffn_dim=len(weights["encoder.blocks.0.feed_forward.enter.weight"]),
        decoder_ffn_dim=len(weights["decoder.blocks.0.feed_forward.enter.weight"]),
        activation_function=told["activation"],
        scale_embedding=True,
        max_position_embeddings=512,
        pad_token_id=0,
        eos_token_id=told["end"],
        decoder_start_token_id=told["end"] + 1,
        forced_eos_token_id=None,
        share_encoder_decoder_embeddings=True,
    )
    model = MarianMTModel(config).eval()
    places = torch.arange(512)[:, None] / 10000 ** (torch.arange(0, table.shape[1], 2) / table.shape[1])
    sinusoids = torch.stack((places.sin(), places.cos()), -1).flatten(1)
    state = {f"model.{side}.embed_positions.weight": sinusoids for side in ("encoder", "decoder")}
    for name in ("model.shared", "model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head"):
        state[f"{name}.weight"] = table
    # What begins a text is never written.
    bias = torch.full((1, len(table)), -torch.inf)
    bias[0, : told["end"] + 1] = weights["output.heads.0.project.bias"]
    state["final_logits_bias"] = bias
    parts = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
    for name, tensor in weights.items():
        side, _, rest = name.partition(".blocks.")
        if not rest:
            continue
        number, part, *inner = rest.split(".")
        attention = "encoder_attn" if "cross" in part else "self_attn"
        if inner[0] == "norm_after":
            norm = "final_layer_norm" if part == "around_feed_forward" else f"{attention}_layer_norm"
            new = f"{norm}.{ {'scale': 'weight', 'shift': 'bias'}[inner[1]] }"
        elif part == "feed_forward":
            new = f"{ {'enter': 'fc1', 'leave': 'fc2'}[inner[0]] }.{inner[1]}"
        else:
            new = f"{attention}.{parts[inner[0]]}.{inner[1]}"
        state[f"model.{side}.layers.{number}.{new}"] = tensor
    model.load_state_dict(state)
    return model, told


def hugging_face(folder, **given):
    import torch

    model, told = marian(folder)

    def write(numbers, at_once, beam):
        def all_of_them():
            found = []
            for start in range(0, len(numbers), at_once):
                rows = [told["pieces"][number] for number in numbers[start : start + at_once]]
                longest = max(map(len, rows))
                asked = {**given, "length_penalty": 1.0} if beam > 1 else {}
                with torch.inference_mode():
                    written = model.generate(
                        input_ids=torch.tensor([row + [0] * (longest - len(row)) for row in rows]),
                        attention_mask=torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows]),
                        num_beams=beam,
                        do_sample=False,
                        max_new_tokens=LONGEST + 1,
                        suppress_tokens=[0, 1],
                        **asked,
                    )
                for row in written[:, 1:].tolist():
                    found.append(row[: row.index(told["end"])] if told["end"] in row else row)
            return found

        return all_of_them

    return write


def ctranslate2(folder, kind="float32"):
    import ctranslate2
    from ctranslate2.converters.transformers import BartLoader

    model, told = marian(folder)
    model.config.normalize_before = model.config.normalize_embedding = False
    specification = BartLoader().get_model_spec(model)
    names = [str(number) for number in range(told["end"])] + ["</s>", "<s>"]
    specification.register_source_vocabulary(names)
    specification.register_target_vocabulary(names)
    config = specification.config
    config.bos_token, config.eos_token, config.unk_token = "<s>", "</s>", "1"
    config.decoder_start_token, config.add_source_eos, config.add_source_bos = "<s>", False, False
    specification.validate()
    specification.optimize(quantization=kind)
    with tempfile.TemporaryDirectory() as saved:
        specification.save(saved)
        translator = ctranslate2.Translator(saved, device="cpu", compute_type=kind, intra_threads=1, inter_threads=1)

    def write(numbers, at_once, beam):
        def all_of_them():
            rows = [list(map(str, told["pieces"][number])) for number in numbers]
            found = []
            for start in range(0, len(rows), at_once):
                found += translator.translate_batch(
                    rows[start : start + at_once],
                    beam_size=beam,
                    length_penalty=1.0,
                    max_decoding_length=LONGEST + 1,
                    disable_unk=True,
                    suppress_sequences=[["0"]],
                )
            return [[int(name) for name in one.hypotheses[0] if name.isdigit()] for one in found]

        return all_of_them

    return write


# Who is measured: (package, what makes it). The first is what the others are held against.
SYSTEMS = {
    "regard": ("regard", ours),
    "regard, patience 1": ("regard", lambda folder: ours(folder, patience=1.0)),
    "Hugging Face": ("transformers", hugging_face),
    "Hugging Face, never early": ("transformers", lambda folder: hugging_face(folder, early_stopping="never")),
    "CTranslate2": ("ctranslate2", ctranslate2),
    "CTranslate2, int8": ("ctranslate2", lambda folder: ctranslate2(folder, "int8")),
}


def version(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "as it lies here"


def resident():
    """Megabytes of memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def work(name, folder):
    """A system's process: each line that comes is a way and its items, each line that goes out what it took."""
    import_module("torch").set_num_threads(1)
    package, make = SYSTEMS[name]
    write = make(Path(folder))
    import_module(package)
    print(json.dumps({"version": version(package)}), flush=True)
    ready = {}
    for line in sys.stdin:
        asked = json.loads(line)
        key = (asked["at_once"], asked["beam"])
        if key not in ready:
            ready[key] = write(asked["numbers"], *key)
            write(asked["numbers"][:3], *key)()
        idle, started = resident(), time.process_time()
        found = ready[key]()
        seconds = time.process_time() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": seconds, "found": found, "idle": idle, "peak": peak}), flush=True)


class Worker:
    """A process that waits for what it is to write."""

    def __init__(self, name, python, folder):
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
        self.process = subprocess.Popen(
            [python, __file__, "--work", name, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self.idle = None
        first = self.process.stdout.readline()
        self.version = json.loads(first)["version"] if first else None

    def write(self, numbers, at_once, beam):
        self.process.stdin.write(json.dumps({"numbers": numbers, "at_once": at_once, "beam": beam}) + "\n")
        self.process.stdin.flush()
        told = json.loads(self.process.stdout.readline())
        self.idle = told["idle"] if self.idle is None else self.idle
        return told


def prepare(run, source, lines, folder):
    """What the others need: lines as pieces, and where the weights are."""
    from regard.run import load

    loaded = load(run)
    texts = Path(source).read_text(encoding="utf-8").split("\n")[:lines]
    items = [loaded.predictor.item(loaded.example(text)) for text in texts]
    told = {
        "run": str(Path(run).resolve()),
        "weights": str((loaded.folder / "best" if (loaded.folder / "best").is_dir() else loaded.folder).resolve())
        + "/model.safetensors",
        "pieces": [list(item.encoded.pieces) for item in items],
        "depth": loaded.recipe.model.depth,
        "heads": loaded.recipe.model.heads,
        "activation": loaded.recipe.model.activation,
        "end": loaded.predictor.writes.end,
    }
    (folder / "told.json").write_text(json.dumps(told))
    (folder / "lines.txt").write_text("\n".join(texts), encoding="utf-8")
    return loaded, told


def measure(workers, loaded, told, references, repeats, only):
    from sacrebleu.metrics import BLEU

    writes = loaded.predictor.writes
    print("\n| | system | sentences / CPU s | regard is | BLEU | same as regard | MB beyond idle |\n|" + " --- |" * 7)
    for way, (at_once, beam) in WAYS.items():
        if only not in way:
            continue
        numbers = sorted(range(0, len(references), EVERY[at_once]), key=lambda number: len(told["pieces"][number]))
        rounds = [
            {name: worker.write(numbers, at_once, beam) for name, worker in workers.items()} for _ in range(repeats)
        ]
        speeds = {name: len(numbers) / statistics.median(one[name]["seconds"] for one in rounds) for name in workers}
        first = None
        for name in workers:
            found = rounds[-1][name]["found"]
            texts = [one if isinstance(one, str) else writes.decode(one) for one in found]
            first = first or texts
            score = BLEU().corpus_score(texts, [[references[number] for number in numbers]]).score
            same = sum(one == other for one, other in zip(first, texts, strict=True))
            peak = max(one[name]["peak"] for one in rounds) - workers[name].idle
            factor = speeds["regard"] / speeds[name]
            cells = (
                way,
                name,
                f"{speeds[name]:.1f}",
                f"{factor:.2f} ×",
                f"{score:.2f}",
                f"{same}/{len(texts)}",
                f"{peak:.0f}",
            )
            print(f"| {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("source")
    parser.add_argument("reference")
    parser.add_argument("--peers", help="their Python; without, only ours is measured")
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="ways with this in their name")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        loaded, told = prepare(asked.run, asked.source, asked.lines, folder)
        references = Path(asked.reference).read_text(encoding="utf-8").split("\n")[: len(told["pieces"])]
        workers = {}
        for name, (package, _) in SYSTEMS.items():
            python = sys.executable if package == "regard" else asked.peers
            worker = Worker(name, python, folder) if python else None
            if worker is None or worker.version is None:
                print(f"{name} is left out: {package} is not installed in {python or 'no --peers'}")
                continue
            workers[name] = worker
            print(f"{name}: {package} {worker.version}")
        print("JoeyNMT is left out: its decoder has no cache, and nothing here brings these weights into its form")
        print(f"torch {metadata.version('torch')}, Python {platform.python_version()}, {platform.machine()}")
        measure(workers, loaded, told, references, asked.repeats, asked.only)
        for worker in workers.values():
            worker.process.stdin.close()
            worker.process.wait()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(*sys.argv[2:])
    else:
        main()
