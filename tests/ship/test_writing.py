"""What writes leaves as two graphs, and a loop of a few lines writes with them what the model writes."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
import written

from regard.data.batching import collate
from regard.data.example import Example
from regard.ship.export import write_export

PAGE = Path(__file__).resolve().parents[2] / "docs" / "export.md"

pytest.importorskip("onnxruntime", reason="needs the extra onnx")


def code(language):
    """The piece of a language that stands in docs/export.md."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return found


@pytest.fixture(scope="module")
def made():
    found = written.predictor(model={"position": "rotary"}, decode={"beam": 3, "max_length": 7})
    found.model.eval()
    return found


@pytest.fixture(scope="module")
def folder(made, tmp_path_factory):
    """A model that reads and writes letters, exported; held against itself with a beam of 3."""
    folder = tmp_path_factory.mktemp("writing") / "onnx"
    recipe = written.recipe(model={"position": "rotary"}, decode={"beam": 3, "max_length": 7})
    line = write_export(made, recipe, written.given_to(made), "onnx", folder, weights="0")
    assert line.verdict == "same" and line.distance.answers == 0
    return folder


def asked(count):
    """Texts of 1, 7 and 33 letters, and some more."""
    texts = ["".join(text.split()) for text, _ in written.pairs(40, seed=5)]
    joined = "".join(texts)
    return [joined[:1], joined[:7], joined[7:40], *texts[:count]]


def greedy(made, text, longest):
    item = made.item(Example((text,), whole=True))
    with torch.inference_mode():
        ((best,),) = made.answering.greedy(longest).search(collate([item], [0]).inputs)
    return made.writes.decode(best.tokens)


def test_the_loop_in_python_writes_what_the_model_writes_with_a_beam_of_1(made, folder):
    names = {}
    exec(code("python"), names)
    loaded = names["load"](folder)
    found = [names["write"](text, *loaded, longest=11) for text in asked(9)]
    assert found == [greedy(made, text, 11) for text in asked(9)]
    assert len(set(found)) >= 3 and not made.model.training and not made.model.decoder.training


def test_the_loop_in_javascript_writes_the_same(made, folder, tmp_path):
    """With onnxruntime-node, where NODE_PATH or a global folder has it."""
    if shutil.which("node") is None:
        pytest.skip("needs node")
    if subprocess.run(["node", "-e", "require('onnxruntime-node')"], capture_output=True).returncode:
        pytest.skip("needs onnxruntime-node (npm install onnxruntime-node; NODE_PATH says where)")
    texts = asked(3)
    script = f"""{code("javascript")}
(async () => {{
  const found = [];
  for (const text of {json.dumps(texts)}) found.push(await write(text, {json.dumps(str(folder))}, 11));
  console.log(JSON.stringify(found));
}})();
"""
    (tmp_path / "write.js").write_text(script, encoding="utf-8")
    done = subprocess.run(["node", tmp_path / "write.js"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [greedy(made, text, 11) for text in texts]


def test_the_page_knows_every_input_and_kind_of_tokenizer():
    from regard.data.tokenizer import TOKENIZERS

    page = PAGE.read_text(encoding="utf-8")
    assert all(f"- `{kind}`" in page for kind in TOKENIZERS)
