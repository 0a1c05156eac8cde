"""Others' models give here what they give there, layer by layer; what does not fit is named, all at once."""

import json
import pickle
import shutil
from dataclasses import replace

import pytest
import safetensors.torch
import torch
from sharp import assert_close
from test_cli import regard

import regard as package
from regard.data.batching import collate
from regard.data.example import Example
from regard.data.padding import padded
from regard.errors import FolderError
from regard.folder import unique_tensors
from regard.ship.importers import import_run
from regard.ship.importers.encoders import FAMILIES
from regard.ship.importers.weights import read_weights

WORDS = ["the", "cat", "sat", "on", "mat", "dog", "a", "##s", "saw", "ran", "red", "##ly", "in", "hat", "big"]
TEXT = "the red cats sat on a mat in the big hat"

# Sizes of each family's own, in the words of its config.json; names that all have stand in ALL.
ALL = {"initializer_range": 0.3, "hidden_size": 22, "num_hidden_layers": 3, "num_attention_heads": 2}
ALL |= {"intermediate_size": 29, "max_position_embeddings": 37}
SIZES = {
    "bert": {**ALL, "layer_norm_eps": 1e-3},
    "roberta": {**ALL, "type_vocab_size": 1, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2},
    "distilbert": {"initializer_range": 0.3, "dim": 22, "n_layers": 3, "n_heads": 2, "hidden_dim": 29},
    "albert": {**ALL, "embedding_size": 13, "hidden_act": "gelu_new"},
}


def own(family):
    """Their libraries, or a skip."""
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    signs = FAMILIES[family].signs
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"] if family == "roberta" else [signs[4], *signs[:4]]
    pieces = [*names, *WORDS]
    config = transformers.AutoConfig.for_model(family, vocab_size=len(pieces), **SIZES[family])
    config._attn_implementation = "eager"
    torch.manual_seed(5)
    return transformers.AutoModelForMaskedLM.from_config(config).eval(), pieces


def written(family, folder):
    """A random model of a family, as its library writes it; and the model."""
    model, pieces = own(family)
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if name.endswith("bias") or "orm" in name:
                tensor.add_(0.1 * torch.randn(tensor.shape))
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text("{}", encoding="utf-8")
    return model


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert") / "theirs"
    return folder, written("bert", folder)


def assert_gives_the_same(theirs, predictor):
    """Vectors after each block, attention weights and scores are theirs, padding aside."""
    texts = [(TEXT,), ("a dog ran",), ("the mat",)]
    encoded = [predictor.tokenizer.encode(text) for text in texts]
    inputs = collate([predictor.item(Example(text, whole=True)) for text in texts], [0, 1, 2]).inputs
    # No piece is masked, and all are asked for.
    inputs["piece_numbers"] = padded([one.pieces for one in encoded], predictor.tokenizer.signs.padding)
    lengths, width = inputs["lengths"], inputs["piece_numbers"].shape[1]
    inputs["asked"] = torch.arange(width).expand(3, -1)
    real = inputs["asked"] < lengths[:, None]
    assert lengths.tolist() == [len(one.pieces) for one in encoded]
    layers, maps, blocks = [], [], list(dict.fromkeys(predictor.model.encoder.blocks))
    handles = [block.register_forward_hook(lambda module, given, x: layers.append(x)) for block in blocks]
    points = [block.attention.weights for block in blocks]
    handles += [point.register_forward_hook(lambda module, given, weights: maps.append(weights)) for point in points]
    with torch.no_grad():
        found = predictor.model(inputs)["text"]
        asked = {"input_ids": inputs["piece_numbers"], "attention_mask": real.long()}
        wanted = theirs(**asked, output_hidden_states=True, output_attentions=True)
    for handle in handles:
        handle.remove()
    assert len(layers) == len(maps) == len(wanted.attentions) == 3
    for number, (here, there) in enumerate(zip(layers, wanted.hidden_states[1:], strict=True)):
        assert_close(here[real], there[real], 1e-5, f"after block {number}")
    rows = real[:, None, :, None].expand_as(wanted.attentions[0])
    for number, (here, there) in enumerate(zip(maps, wanted.attentions, strict=True)):
        assert_close(here[rows], there[rows], 1e-5, f"attention of block {number}")
    assert_close(found[real], wanted.logits[real], 1e-4, "scores")
    assert wanted.attentions[1].max() > 0.5  # sharp, so that a mistake would show


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.filterwarnings("ignore")
def test_an_imported_model_gives_what_it_gave_layer_by_layer(family, tmp_path):
    theirs = written(family, tmp_path / "theirs")
    import_run(tmp_path / "theirs", tmp_path / "ours")
    assert_gives_the_same(theirs, package.load(tmp_path / "ours").predictor)


def swapped(family, one, other):
    """A family whose map takes one of their layers for another."""
    body = {
        theirs.replace(one, "?").replace(other, one).replace("?", other): ours for theirs, ours in family.body.items()
    }
    return replace(family, body=body)


PLANTED = {
    "queries for keys": lambda family: swapped(family, "self.query", "self.key"),
    "one norm for the other": lambda family: swapped(family, "attention.output.LayerNorm", "output.LayerNorm"),
    "places one off": lambda family: replace(
        family, places=1, settings=lambda config: family.settings({**config, "max_position_embeddings": 36})
    ),
    "another epsilon": lambda family: replace(
        family, settings=lambda config: family.settings({**config, "layer_norm_eps": 1e-12})
    ),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_mistake_in_a_map_would_be_found(fault, bert, tmp_path, monkeypatch):
    monkeypatch.setitem(FAMILIES, "bert", PLANTED[fault](FAMILIES["bert"]))
    import_run(bert[0], tmp_path / "ours")
    with pytest.raises(AssertionError):
        assert_gives_the_same(bert[1], package.load(tmp_path / "ours").predictor)


def test_an_imported_run_fills_masks_is_begun_with_and_names_what_was_left_out(bert, tmp_path):
    source, _ = bert
    done = regard("import", source, "ours", folder=tmp_path)
    assert done.status == 0, done.err
    assert done.out.startswith("bert: ") and "each under a name of ours" in done.out
    (tmp_path / "line.txt").write_text("the [MASK] sat\n")
    filled = regard("predict", "ours", "line.txt", "--top", 2, folder=tmp_path)
    assert filled.status == 0, filled.err
    assert len(filled.out.splitlines()) == 2
    looked = regard("look", "ours", "the [MASK] sat", "--json", folder=tmp_path)
    assert json.loads(looked.out)["tokens"] == ["[CLS]", "the", "[MASK]", "sat", "[SEP]"]
    refused = regard("import", source, "ours", folder=tmp_path)
    assert refused.status == 2 and "ours exists already; name another folder" in refused.err


def test_body_and_head_are_the_same_tensors_only_once(bert, tmp_path):
    """The vectors of pieces are also those of the output: one tensor, under one name."""
    import_run(bert[0], tmp_path / "ours")
    model = package.load(tmp_path / "ours").predictor.model
    assert model.output.heads[0].project.project.table is model.input.pieces.table
    assert sum("table" in name for name in unique_tensors(model)) == 1


def changed(bert, folder, change):
    """The folder with other tensors."""
    shutil.copytree(bert[0], folder)
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    change(tensors)
    safetensors.torch.save_file(tensors, folder / "model.safetensors")
    return folder


def refused(folder, tmp_path):
    with pytest.raises(FolderError) as found:
        import_run(folder, tmp_path / "ours")
    assert not (tmp_path / "ours").exists()
    return str(found.value)


def test_all_that_is_missing_extra_or_of_another_shape_is_told_at_once(bert, tmp_path):
    def change(tensors):
        del tensors["bert.encoder.layer.1.attention.self.key.bias"]
        tensors["bert.encoder.layer.0.adapter.weight"] = torch.zeros(2)
        tensors["bert.embeddings.position_embeddings.weight"] = torch.zeros(31, 22)

    told = refused(changed(bert, tmp_path / "theirs", change), tmp_path)
    assert f"{tmp_path / 'theirs'} does not fit its config.json" in told
    assert "encoder.layer.1.attention.self.key.bias is missing" in told
    assert "encoder.layer.0.adapter.weight is not known" in told
    assert "embeddings.position_embeddings.weight is (31, 22) where (37, 22) was expected" in told


def test_an_output_that_is_not_shared_is_refused(bert, tmp_path):
    def change(tensors):
        tensors["cls.predictions.decoder.weight"] = torch.ones_like(tensors["bert.embeddings.word_embeddings.weight"])

    told = refused(changed(bert, tmp_path / "theirs", change), tmp_path)
    assert "cls.predictions.decoder.weight differs from embeddings.word_embeddings.weight" in told


def test_a_body_without_a_head_says_that_its_head_is_new(bert, tmp_path):
    def change(tensors):
        for name in [name for name in tensors if name.startswith("cls.")]:
            del tensors[name]

    found = import_run(changed(bert, tmp_path / "theirs", change), tmp_path / "ours")
    assert not found.head and "this run's is new and knows nothing" in found.told()


def test_a_tokenizer_of_another_model_is_refused(bert, tmp_path):
    folder = changed(bert, tmp_path / "theirs", lambda tensors: None)
    with (folder / "vocab.txt").open("a") as stream:
        stream.write("more\n")
    assert "knows 21 pieces, but only 20 have a vector" in refused(folder, tmp_path)
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\nthe\n")
    assert "does not know [CLS], [SEP], [MASK]" in refused(folder, tmp_path)
    (folder / "vocab.txt").unlink()
    assert "has no tokenizer that can be read: tokenizer.json, vocab.txt" in refused(folder, tmp_path)


@pytest.fixture
def plain(tmp_path):
    """A folder with nothing but a config.json."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    sizes = {"hidden_size": 22, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 29}
    config = {"model_type": "bert", "max_position_embeddings": 37, "vocab_size": 20, **sizes}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_a_folder_that_is_half_downloaded_is_told_with_what_there_is(plain, tmp_path):
    assert "has no weights (model.safetensors or pytorch_model.bin)" in refused(plain, tmp_path)
    index = {"weight_map": {"a": "model-1-of-2.safetensors", "b": "model-2-of-2.safetensors"}}
    (plain / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "model-1-of-2.safetensors, model-2-of-2.safetensors of 2 files are missing" in refused(plain, tmp_path)
    (plain / "config.json").unlink()
    assert "config.json is missing; is the folder half downloaded?" in refused(plain, tmp_path)
    assert "nowhere is no folder" in refused(tmp_path / "nowhere", tmp_path)


def test_an_unknown_architecture_is_answered_with_those_that_are_known(plain, tmp_path):
    (plain / "config.json").write_text(json.dumps({"model_type": "albart"}))
    with pytest.raises(package.RegardError, match=f"known: {', '.join(FAMILIES)}; did you mean albert"):
        import_run(plain, tmp_path / "ours")


class Marker:
    def __reduce__(self):
        return (exec, ("import pathlib; pathlib.Path('PICKLE_WAS_EXECUTED').mkdir()",))


def test_a_pickle_with_code_is_refused_and_nothing_is_run(plain, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save({"weight": Marker()}, plain / "pytorch_model.bin", pickle_module=pickle)
    told = refused(plain, tmp_path)
    assert "could run code when it is read and is refused" in told and "exec" in told
    assert not (tmp_path / "PICKLE_WAS_EXECUTED").exists()


def test_a_plain_pickle_is_read_and_its_classes_are_told(plain):
    torch.save({"weight": torch.ones(3)}, plain / "pytorch_model.bin")
    said = []
    assert read_weights(plain, said.append)["weight"].tolist() == [1, 1, 1]
    assert "torch._utils._rebuild_tensor_v2" in said[0] and "read without running anything" in said[0]


@pytest.mark.parametrize(
    ("case", "name", "told"),
    [
        ("b26_empty.pt", "pytorch_model.bin", "is incomplete or no file of weights"),
        ("b26_truncated.pt", "pytorch_model.bin", "is incomplete or no file of weights"),
        ("b26_truncated.safetensors", "model.safetensors", "is incomplete or no safetensors file"),
        ("b26_huge_header.safetensors", "model.safetensors", "is incomplete or no safetensors file"),
        ("b27_pickle_marker.pt", "pytorch_model.bin", "could run code when it is read and is refused"),
    ],
)
def test_files_that_broke_others_are_refused_by_name(case, name, told, cases, plain, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(cases / case, plain / name)
    assert told in refused(plain, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"theirs"}
