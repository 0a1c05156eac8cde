"""Models that write, with everything that may encode and look back: what is written depends on the item alone."""

import pytest
import torch
from pairs import every_pair
from sharp import assert_close, sharpen

from regard.build import DECODERS, ENCODERS, build, learn
from regard.data.batching import collate
from regard.data.example import Example, Place
from regard.recipe import recipe_from

WORDS = ["abba", "cab", "a", "bacca", "bb"]
EXAMPLES = [
    Example(tuple(word), {"text": (word[::-1],)}, Place("small", line), whole=True)
    for line, word in enumerate(WORDS, 1)
]
CASES = every_pair(encoder=[kind for kind in ENCODERS if kind != "pointwise"], decoder=DECODERS, beam=[1, 3])


def predictor_for(encoder, decoder, beam):
    recipe = recipe_from(
        {
            "task": {"kind": "seq2seq"},
            "data": {"train": "x"},
            "input": {"tokens": "characters"},
            "model": {"width": 22, "heads": 2, "inner": 29, "encoder": encoder, "decoder": decoder},
            "train": {"seed": 5},
            "decode": {"beam": beam, "max_length": 11},
        }
    )
    predictor = build(recipe, *learn(recipe, EXAMPLES, ("text",)))
    sharpen(predictor.model).eval()
    return predictor


def found(predictor, examples):
    return [(answer.text, answer.probabilities["text"][0]) for answer in predictor.predict(examples)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(map(str, case.values())))
def test_what_is_written_does_not_depend_on_neighbours_or_order(case):
    predictor = predictor_for(**case)
    alone = [found(predictor, [example])[0] for example in EXAMPLES]
    assert len({share for _, share in alone}) > 1
    for one, other in ((found(predictor, EXAMPLES), alone), (found(predictor, EXAMPLES[::-1]), alone[::-1])):
        assert [text for text, _ in one] == [text for text, _ in other]
        assert [share for _, share in one] == pytest.approx([share for _, share in other], rel=1e-4)


@pytest.mark.parametrize("encoder", [kind for kind in ENCODERS if kind != "pointwise"])
@pytest.mark.parametrize("decoder", DECODERS)
def test_writing_step_by_step_gives_the_scores_of_all_at_once(encoder, decoder):
    predictor = predictor_for(encoder, decoder, 1)
    batch = collate([predictor.item(example) for example in EXAMPLES], range(len(EXAMPLES)))
    model, written = predictor.model, batch.inputs["written"]
    with torch.no_grad():
        whole = model(batch.inputs)["text"]
        memory, mask = model.read(batch.inputs)
        cache = model.decoder.cache()
        steps = [model.write(step, memory, mask, cache)["text"] for step in written.split(1, 1)]
    real = torch.arange(written.shape[1]) < batch.inputs["answers"][:, None]
    assert_close(torch.cat(steps, 1)[real], whole[real], 1e-4)
