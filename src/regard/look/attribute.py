"""Other ways to say what an answer comes from, beside the weights themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from regard.data.batching import collate
from regard.errors import RegardError
from regard.layers.multihead import MultiHeadAttention
from regard.look.effect import Asked
from regard.look.record import Recording, attention_layers
from regard.models.model import DecoderModel


def rollout(layers: Sequence[Tensor]) -> Tensor:
    """How much of each element reaches each other through all layers: the mean of the heads, half of it what was there
    already (the residual), multiplied from layer to layer.

    Source: Abnar & Zuidema 2020, arXiv:2005.00928, section 3, "attention rollout".

    layers: for each layer (heads, queries, keys); output: (queries, keys)
    """
    flow = torch.eye(layers[0].shape[-1], dtype=layers[0].dtype)
    for weights in layers:
        mixed = (weights.mean(0) + torch.eye(len(flow), dtype=flow.dtype)) / 2
        flow = (mixed / mixed.sum(-1, keepdim=True)) @ flow
    return flow


def norms(layer: MultiHeadAttention, recording: Recording, path: str) -> Tensor:
    """How much each element really adds: the length of weight × value, projected as the layer does.

    A large weight on a small value adds nothing. Source: Kobayashi et al. 2020, arXiv:2004.10102, equation 5 (their
    ‖α f(x)‖).

    output: (batch, heads, queries, keys)
    """
    question, weights = recording.questions[path], recording.weights[path]
    values = question.values
    if isinstance(layer.output, torch.nn.Linear):
        # (width, heads * value_width) -> (heads, value_width, width)
        project = layer.output.weight.detach().T.unflatten(0, (layer.heads, -1))
        values = values @ project.to(values)
    return weights * values.norm(dim=-1)[:, :, None]


def gradients(asked: Asked) -> dict[str, Tensor]:
    """Which weights the answer would feel: each weight times the gradient of the answer's log-probability.

    Source: Barkan et al. 2021 and Chefer et al. 2021, arXiv:2012.09838, equation 5 (there without layers' product).

    output: path -> (heads, queries, keys)
    """
    seen: dict[str, Tensor] = {}
    model = asked.predictor.model
    handles = [
        layer.weights.register_forward_hook(_hold(path, seen)) for path, layer in attention_layers(model).items()
    ]
    try:
        with torch.enable_grad():
            total = _log_probability(asked)
            found = torch.autograd.grad(total, list(seen.values()), allow_unused=True)
    finally:
        for handle in handles:
            handle.remove()
    return {
        path: torch.zeros_like(weights[0]) if gradient is None else (weights * gradient)[0].detach()
        for (path, weights), gradient in zip(seen.items(), found, strict=True)
    }


def _hold(path: str, seen: dict[str, Tensor]):  # type: ignore[no-untyped-def]
    def hook(point: object, inputs: tuple[Tensor, slice], weights: Tensor) -> Tensor:
        if not weights.requires_grad:
            weights = weights.detach().requires_grad_()
        seen[path] = weights
        return weights

    return hook


def _log_probability(asked: Asked) -> Tensor:
    """Of the answer; of a number the number itself."""
    total = torch.zeros((), device=asked.predictor.device)
    for column, scores in asked.predictor.model(asked.inputs).items():
        head = asked.predictor.model.output.head(column)
        certain = head.certainty(scores, asked.best[column], asked.inputs["answers"])
        total = total + (head.best(scores, asked.inputs["answers"]).sum() if certain is None else _logs(certain))
    return total


def _logs(shares: Tensor) -> Tensor:
    return shares.clamp(min=1e-30).log().sum()


def leave_one_out(asked: Asked) -> Tensor:
    """What each word of the input is worth: how much the answer's probability falls when the word is left out.

    output: (words, elements of the answer); not a number where that element went with the word
    """
    predictor, words = asked.predictor, asked.example.words
    if asked.example.signal is not None:
        raise RegardError("words can be left out of a text, but this run reads no text")
    if isinstance(predictor.model, DecoderModel) or predictor.masking is not None:
        raise RegardError("a run of plain text (mlm, lm) reads a text as one, so no word can be left out of it")
    before = asked.answers()[0][0]
    each_word = not predictor.whole and predictor.writes is None
    rows = []
    for place in range(len(words)):
        kept = [number for number in range(len(words)) if number != place]
        if not kept:
            rows.append(torch.full_like(before, torch.nan))
            continue
        after = _without(asked, kept, each_word=each_word).answers()[0][0]
        if each_word:
            columns = len(before) // len(words)
            spread = torch.full((columns, len(words)), torch.nan)
            spread[:, kept] = after.view(columns, len(kept))
            after = spread.flatten()
        rows.append(before - after)
    return torch.stack(rows)


def _without(asked: Asked, kept: Sequence[int], *, each_word: bool) -> Asked:
    """The same question for some of the words, held against the same answer."""
    predictor = asked.predictor
    example = replace(asked.example, words=tuple(asked.example.words[number] for number in kept), labels={})
    item = predictor.item(example)
    inputs = collate([item], [0]).to(predictor.device).inputs
    for name in ("written", "answers") if "written" in asked.inputs else ():
        inputs[name] = asked.inputs[name]
    best = {column: best[:, kept] for column, best in asked.best.items()} if each_word else asked.best
    return Asked(predictor, example, item, inputs, best)
