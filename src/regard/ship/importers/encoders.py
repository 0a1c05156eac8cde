"""Encoders that learnt what stands behind masks: BERT, RoBERTa, DistilBERT, ALBERT, by one map of names each."""

from __future__ import annotations

from typing import Any

from regard.errors import FolderError, choose
from regard.ship.importers.family import Config, Family, linear, norm, table

_BLOCK = "encoder.blocks.{block}"
_HEAD = "output.heads.0.project"

# Their activations, as they are called here.
_ACTIVATIONS = {"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu"}

_POOLER = "what answers for a whole text was made for another task; model.start begins with a head of its own"
_NEXT = "whether one text follows another is not asked here"
_COUNTED = "places are counted, not kept"

_INPUT = {
    **table("embeddings.word_embeddings", "input.pieces.table"),
    **table("embeddings.position_embeddings", "input.places"),
    **norm("embeddings.LayerNorm", "input.norm"),
}
_SEGMENTS = table("embeddings.token_type_embeddings", "input.segments")

_BERT_BODY = {
    **_INPUT,
    **_SEGMENTS,
    **linear("encoder.layer.{block}.attention.self.query", f"{_BLOCK}.attention.query"),
    **linear("encoder.layer.{block}.attention.self.key", f"{_BLOCK}.attention.key"),
    **linear("encoder.layer.{block}.attention.self.value", f"{_BLOCK}.attention.value"),
    **linear("encoder.layer.{block}.attention.output.dense", f"{_BLOCK}.attention.output"),
    **norm("encoder.layer.{block}.attention.output.LayerNorm", f"{_BLOCK}.around_attention.norm_after"),
    **linear("encoder.layer.{block}.intermediate.dense", f"{_BLOCK}.feed_forward.enter"),
    **linear("encoder.layer.{block}.output.dense", f"{_BLOCK}.feed_forward.leave"),
    **norm("encoder.layer.{block}.output.LayerNorm", f"{_BLOCK}.around_feed_forward.norm_after"),
}

_DISTILBERT_BODY = {
    **_INPUT,
    **linear("transformer.layer.{block}.attention.q_lin", f"{_BLOCK}.attention.query"),
    **linear("transformer.layer.{block}.attention.k_lin", f"{_BLOCK}.attention.key"),
    **linear("transformer.layer.{block}.attention.v_lin", f"{_BLOCK}.attention.value"),
    **linear("transformer.layer.{block}.attention.out_lin", f"{_BLOCK}.attention.output"),
    **norm("transformer.layer.{block}.sa_layer_norm", f"{_BLOCK}.around_attention.norm_after"),
    **linear("transformer.layer.{block}.ffn.lin1", f"{_BLOCK}.feed_forward.enter"),
    **linear("transformer.layer.{block}.ffn.lin2", f"{_BLOCK}.feed_forward.leave"),
    **norm("transformer.layer.{block}.output_layer_norm", f"{_BLOCK}.around_feed_forward.norm_after"),
}

_ONE = "encoder.albert_layer_groups.0.albert_layers.0"
_ALBERT_BODY = {
    **_INPUT,
    **_SEGMENTS,
    **linear("encoder.embedding_hidden_mapping_in", "input.project"),
    **linear(f"{_ONE}.attention.query", "encoder.blocks.0.attention.query"),
    **linear(f"{_ONE}.attention.key", "encoder.blocks.0.attention.key"),
    **linear(f"{_ONE}.attention.value", "encoder.blocks.0.attention.value"),
    **linear(f"{_ONE}.attention.dense", "encoder.blocks.0.attention.output"),
    **norm(f"{_ONE}.attention.LayerNorm", "encoder.blocks.0.around_attention.norm_after"),
    **linear(f"{_ONE}.ffn", "encoder.blocks.0.feed_forward.enter"),
    **linear(f"{_ONE}.ffn_output", "encoder.blocks.0.feed_forward.leave"),
    **norm(f"{_ONE}.full_layer_layer_norm", "encoder.blocks.0.around_feed_forward.norm_after"),
}


def _head(dense: str, norm_of: str, bias: str) -> dict[str, str]:
    return {
        **linear(dense, f"{_HEAD}.transform"),
        **norm(norm_of, f"{_HEAD}.norm"),
        bias: f"{_HEAD}.project.bias",
    }


def _tied(decoder: str, bias: str) -> dict[str, str]:
    return {f"{decoder}.weight": "embeddings.word_embeddings.weight", f"{decoder}.bias": bias}


def _bert(config: Config, *, places: int = 0) -> dict[str, dict[str, Any]]:
    """The settings that BERT and those after it have in common."""
    kind = config.get("position_embedding_type", "absolute")
    if kind != "absolute":
        raise FolderError(f"position_embedding_type is {kind}, but absolute is imported")
    if config.get("is_decoder"):
        raise FolderError("is_decoder is true, but only encoders of this family are imported")
    segments = config.get("type_vocab_size", 2)
    return {
        "input": {
            "tokens": "library",
            "places": config["max_position_embeddings"] - places,
            "dropout": 0.0,
            "segments": segments,
        },
        "model": {
            "width": config["hidden_size"],
            "depth": config["num_hidden_layers"],
            "heads": config["num_attention_heads"],
            "inner": config["intermediate_size"],
            "activation": choose(_ACTIVATIONS, config.get("hidden_act", "gelu"), "hidden_act"),
            "position": "none",
            "norm_place": "after",
            "epsilon": config.get("layer_norm_eps", 1e-12),
            "dropout": config.get("hidden_dropout_prob", 0.1),
            "attention_dropout": config.get("attention_probs_dropout_prob", 0.1),
        },
    }


def _roberta(config: Config) -> dict[str, dict[str, Any]]:
    return _bert(config, places=2)


def _distilbert(config: Config) -> dict[str, dict[str, Any]]:
    names = {"dim": "hidden_size", "n_layers": "num_hidden_layers", "n_heads": "num_attention_heads"}
    names |= {"hidden_dim": "intermediate_size", "activation": "hidden_act", "dropout": "hidden_dropout_prob"}
    names |= {"attention_dropout": "attention_probs_dropout_prob"}
    return _bert({**{names.get(name, name): value for name, value in config.items()}, "type_vocab_size": 0})


def _albert(config: Config) -> dict[str, dict[str, Any]]:
    for name in ("num_hidden_groups", "inner_group_num"):
        if config.get(name, 1) != 1:
            raise FolderError(f"{name} is {config[name]}, but 1 is imported: all blocks are the same")
    found = _bert(config)
    found["input"]["piece_width"] = config["embedding_size"]
    found["model"]["shared_blocks"] = True
    return found


_BERT_SIGNS = ("[CLS]", "[SEP]", "[UNK]", "[MASK]", "[PAD]")
_UNUSED = {r"pooler\..*": _POOLER, r"embeddings\.position_ids": _COUNTED, r".*seq_relationship\..*": _NEXT}

# By config.json's model_type.
FAMILIES: dict[str, Family] = {
    "bert": Family(
        prefix="bert.",
        body=_BERT_BODY,
        head=_head("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.bias"),
        unused=_UNUSED,
        tied=_tied("cls.predictions.decoder", "cls.predictions.bias"),
        settings=_bert,
        signs=_BERT_SIGNS,
    ),
    "roberta": Family(
        prefix="roberta.",
        body=_BERT_BODY,
        head=_head("lm_head.dense", "lm_head.layer_norm", "lm_head.bias"),
        unused=_UNUSED,
        tied=_tied("lm_head.decoder", "lm_head.bias"),
        settings=_roberta,
        signs=("<s>", "</s>", "<unk>", "<mask>", "<pad>"),
        places=2,
    ),
    "distilbert": Family(
        prefix="distilbert.",
        body=_DISTILBERT_BODY,
        head=_head("vocab_transform", "vocab_layer_norm", "vocab_projector.bias"),
        unused=_UNUSED,
        tied=_tied("vocab_projector", "vocab_projector.bias"),
        settings=_distilbert,
        signs=_BERT_SIGNS,
    ),
    "albert": Family(
        prefix="albert.",
        body=_ALBERT_BODY,
        head=_head("predictions.dense", "predictions.LayerNorm", "predictions.bias"),
        unused={**_UNUSED, r"pooler(_classifier)?\..*": _POOLER, r"sop_classifier\..*": _NEXT},
        tied=_tied("predictions.decoder", "predictions.bias"),
        settings=_albert,
        signs=_BERT_SIGNS,
        pieces=False,
    ),
}
