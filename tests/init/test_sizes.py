"""What data look like, and the settings for them."""

import pytest

from regard.data.example import Example
from regard.init.sizes import label_settings
from regard.recipe.settings import ALSO_CALLED, NAMES


def settings(*sentences: str):
    found = [labels.split() for labels in sentences]
    return label_settings([Example(("w",) * len(labels), {"ner": tuple(labels)}) for labels in found])


SCHEMES = {
    "IOB1": ["I-A I-A O", "I-A B-A I-B O"],
    "IOB2": ["B-A I-A O", "B-A B-A B-B O"],
    "IOBES": ["B-A E-A O", "S-A S-A S-B O", "B-A I-A E-A"],
    "BMES": ["B-A E-A O", "S-A S-A S-B O", "B-A M-A E-A"],
    "BILOU": ["B-A L-A O", "U-A U-A U-B O", "B-A I-A L-A"],
    "none": ["DET NOUN VERB", "I-A S-A L-A"],
}


def test_every_scheme_is_noticed() -> None:
    assert set(SCHEMES) == set(NAMES["data.scheme"])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_scheme_of_the_labels_is_noticed(scheme: str) -> None:
    found = settings(*SCHEMES[scheme])
    learnt = "IOB2" if scheme == "IOB1" else scheme
    assert found["output"] == ({} if scheme == "none" else {"scheme": learnt, "crf": True})
    assert found["data"].get("scheme", learnt) == scheme
    assert found["data"].get("on_error") == (None if scheme == "none" else "skip")


def test_one_faulty_sentence_in_a_hundred_does_not_hide_the_scheme() -> None:
    assert settings(*["I-A O", "B-A O"], *["I-A B-A O"] * 99)["data"]["scheme"] == "IOB1"
    assert settings(*["I-A O"] * 3, *["B-A I-A O"] * 97)["output"] == {}


def test_a_scheme_has_one_name() -> None:
    assert not set(ALSO_CALLED) & set(NAMES["output.scheme"]) and set(ALSO_CALLED.values()) <= set(NAMES["data.scheme"])
