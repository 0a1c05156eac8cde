"""A small English in which half of the words could be two things, and the sentence says which.

"I saw a saw": the first saw is a VERB, the second a NOUN. No list of words can tell them apart, but their
neighbours can. The rules below make sentences full of such words, together with their parts of speech (UPOS,
universaldependencies.org/u/pos), as practice for a tagger.

The rules give no string of words with two taggings; tests/demo/test_grammar.py proves it by exhausting them. So
every sentence has one right answer, and what a tagger gets wrong is the tagger's fault. Real English is less kind.
Each of these sentences has two readings, and something had to be left out to be rid of one:

    they can fish                         PRON AUX VERB              nouns without a determiner
                                          PRON VERB NOUN
    they saw the light park               PRON VERB DET ADJ NOUN     nouns before nouns
                                          PRON VERB DET NOUN NOUN
    I saw her duck                        PRON VERB PRON VERB        verbs after objects
                                          PRON VERB DET NOUN
    can the light fish here               AUX DET NOUN VERB ADV      questions: can + one thing
                                          VERB DET ADJ NOUN ADV
    the light can saw it                  DET NOUN AUX VERB PRON     saw as what one does with a saw
                                          DET ADJ NOUN VERB PRON
    I saw a dog and the light rose        ... DET NOUN VERB          lists of things
                                          ... DET ADJ NOUN

Verbs agree, which helps: the duck saw, the duck can fish, they fish; never "the duck fish". A possessive her is
not there, since the English treebanks tag it PRON like the other her; this and that are truly DET or PRON.
"""

import random
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple


class Sentence(NamedTuple):
    """Words, and for each of them its part of speech."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


_NOUN_OR_VERB = ("can", "light", "park", "watch", "plant", "box", "book", "cook", "train", "ring", "bear")

# Terminal class -> (tag, words). A class has one tag; a word may stand in several classes.
LEXICON: dict[str, tuple[str, tuple[str, ...]]] = {
    "SPEAKER": ("PRON", ("I", "you", "we", "they")),
    "IT": ("PRON", ("him", "them", "it", "this", "that")),
    "A": ("DET", ("a", "the", "this", "that", "every")),
    "SOME": ("DET", ("some", "the", "these")),
    "LIGHT": ("ADJ", ("light", "fast", "big", "small", "quiet")),
    "DUCK": ("NOUN", (*_NOUN_OR_VERB, "saw", "rose", "fish", "duck", "dog")),
    "CHILDREN": ("NOUN", ("children", "women", "people")),
    "WATCH": ("VERB", _NOUN_OR_VERB),
    "FISH": ("VERB", ("fish", "duck", "swim")),
    "SAW": ("VERB", ("saw", "heard", "found")),
    "ROSE": ("VERB", ("rose", "slept", "sang")),
    "WENT": ("VERB", ("went", "ran")),
    "WANTED": ("VERB", ("wanted", "hoped")),
    "CAN": ("AUX", ("can", "will", "must")),
    "WILL": ("AUX", ("will", "must")),
    "WAS": ("AUX", ("was", "is")),
    "NEVER": ("ADV", ("never", "often", "always")),
    "HERE": ("ADV", ("here", "today", "again", "fast")),
    "IN": ("ADP", ("in", "near", "behind", "with")),
    "TO_THE": ("ADP", ("to",)),
    "TO_DO": ("PART", ("to",)),
    "AND": ("CCONJ", ("and", "but")),
    "BECAUSE": ("SCONJ", ("because", "while")),
}

# Small letters name a rule, capitals a terminal class. No rule leads back to itself, so there are finitely many
# sentences (3 to 13 words). Alternatives are equally likely when drawn: that, and how few of the words in a class
# have one reading only, decides how far a list of words gets (measured in the tests).
RULES: dict[str, tuple[str, ...]] = {
    "sentence": (
        "deed",
        "chance",
        "journey",
        "command",
        "question",
        "short AND short",
        "short BECAUSE short",
    ),
    # they light the fast train here; the duck never rose
    "deed": ("many act", "many NEVER act", "anyone past"),
    # I can can the fish; the light can never light the can
    "chance": (
        "anyone CAN FISH",
        "anyone CAN act",
        "anyone CAN NEVER act",
        "anyone CAN WATCH thing AND WATCH thing",
    ),
    # some people ran to the small park to park it; the light was light in the box
    "journey": (
        "anyone WANTED TO_DO act",
        "anyone WENT TO_THE thing",
        "anyone WENT TO_THE thing TO_DO WATCH object",
        "one WAS LIGHT IN thing",
    ),
    "command": ("WATCH thing", "WATCH object place", "NEVER act", "WATCH thing AND WATCH thing"),
    # "can the light fish here" is a command here, so "can" asks only many
    "question": ("CAN many act", "WILL one act"),
    "short": (
        "SPEAKER WATCH thing",
        "actor CAN FISH",
        "actor CAN WATCH A DUCK",
        "actor SAW object",
        "actor ROSE",
        "A LIGHT DUCK SAW IT",
    ),
    "act": ("WATCH thing", "WATCH thing place", "WATCH IT place", "FISH place"),
    "past": ("SAW object", "SAW object place", "NEVER SAW object", "ROSE place", "NEVER ROSE"),
    "anyone": ("many", "one"),
    "actor": ("SPEAKER", "A DUCK"),
    "many": ("SPEAKER", "SOME CHILDREN", "SOME LIGHT CHILDREN"),
    "one": ("A DUCK", "A LIGHT DUCK"),
    "object": ("thing", "IT"),
    "thing": ("A DUCK", "A LIGHT DUCK"),
    "place": ("HERE", "IN thing"),
}


def _ambiguous_words() -> Iterator[str]:
    tags: dict[str, set[str]] = {}
    for tag, words in LEXICON.values():
        for word in words:
            tags.setdefault(word, set()).add(tag)
    return (word for word in tags if len(tags[word]) > 1)


# The words that need a sentence to say what they are.
AMBIGUOUS: frozenset[str] = frozenset(_ambiguous_words())

# Derivable like any other, but never drawn: so it can be shown at the end to a tagger that has not seen it.
KEPT_BACK: tuple[str, ...] = ("I", "saw", "a", "saw")


def sentences(count: int, seed: int) -> list[Sentence]:
    """Draw sentences, no two with the same words; the same count and seed always give the same ones.

    "I saw a saw" is never among them; see KEPT_BACK.
    """
    chance = random.Random(seed)
    seen = {KEPT_BACK}
    drawn: list[Sentence] = []
    while len(drawn) < count:
        sentence = _draw(chance)
        if sentence.words not in seen:
            seen.add(sentence.words)
            drawn.append(sentence)
    return drawn


def patterns() -> Iterator[tuple[str, ...]]:
    """Every sequence of terminal classes which the rules give, such as SPEAKER SAW A DUCK."""
    return _every_pattern("sentence")


def _draw(chance: random.Random) -> Sentence:
    entries = [LEXICON[terminal] for terminal in _one_pattern("sentence", chance)]
    return Sentence(
        words=tuple(chance.choice(words) for _, words in entries),
        tags=tuple(tag for tag, _ in entries),
    )


def _one_pattern(symbol: str, chance: random.Random) -> list[str]:
    if symbol in LEXICON:
        return [symbol]
    alternative = chance.choice(RULES[symbol])
    return [terminal for part in alternative.split() for terminal in _one_pattern(part, chance)]


def _every_pattern(symbol: str) -> Iterator[tuple[str, ...]]:
    if symbol in LEXICON:
        yield (symbol,)
        return
    for alternative in RULES[symbol]:
        for parts in product(*map(_every_pattern, alternative.split())):
            yield tuple(terminal for part in parts for terminal in part)
