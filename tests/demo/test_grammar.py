"""The demo's grammar: every sentence has one tagging, and no word tells it alone."""

from collections import Counter, defaultdict
from functools import cache
from itertools import chain
from statistics import mean

import pytest

from regard.demo import grammar
from regard.demo.grammar import AMBIGUOUS, KEPT_BACK, LEXICON, RULES, Sentence, patterns, sentences

NOUN_AND_VERB = {
    *("saw", "can", "fish", "light", "park", "duck", "watch", "plant"),
    *("box", "book", "cook", "train", "ring", "bear", "rose"),
}


def string_with_two_taggings():
    """Follow two patterns side by side through words that both allow; return such words and both taggings, or None.

    A string has two taggings just if two patterns of its length differ in a tag and share a word at every position.
    What is left of a pattern decides how it can go on, so a state is the set of all endings still possible, for each
    of the two; beginnings with the same endings are followed once. This is exhaustive, and takes milliseconds.
    """
    lexicon = grammar.LEXICON  # looked up now: a test may have planted something

    @cache
    def steps(endings):
        following = defaultdict(set)
        for ending in endings:
            if ending:
                following[ending[0]].add(ending[1:])
        return [(terminal, frozenset(rest)) for terminal, rest in following.items()]

    @cache
    def shared_word(one, other):
        return min(set(lexicon[one][1]) & set(lexicon[other][1]), default=None)

    start = frozenset(patterns())
    waiting = [(start, start, ())]
    seen = set()
    while waiting:
        one_endings, other_endings, path = waiting.pop()
        words, one_tags, other_tags = zip(*path, strict=True) if path else ((), (), ())
        state = one_endings, other_endings, one_tags != other_tags
        if state in seen:
            continue
        seen.add(state)
        if one_tags != other_tags and () in one_endings and () in other_endings:
            return words, one_tags, other_tags
        for one, one_rest in steps(one_endings):
            for other, other_rest in steps(other_endings):
                if word := shared_word(one, other):
                    step = word, lexicon[one][0], lexicon[other][0]
                    waiting.append((one_rest, other_rest, (*path, step)))
    return None


def entries_by_length():
    """Every pattern as the lexicon's entries (tag and words for each position), under its length."""
    entries = defaultdict(list)
    for pattern in patterns():
        entries[len(pattern)].append([grammar.LEXICON[terminal] for terminal in pattern])
    return entries


def taggings(words, entries):
    """All taggings of these words, by trying every pattern: slow and plain, and so a check on the search above."""
    return {
        tuple(tag for tag, _ in pattern)
        for pattern in entries[len(words)]
        if all(word in allowed for word, (_, allowed) in zip(words, pattern, strict=True))
    }


@pytest.fixture(scope="module")
def drawn():
    return sentences(5000, seed=7)


def test_no_string_has_two_taggings():
    assert string_with_two_taggings() is None


@pytest.mark.parametrize(
    ("rule", "alternative", "word_in"),
    [
        ("object", "DUCK", {}),  # they can fish
        ("thing", "A DUCK DUCK", {}),  # they saw the light park
        ("past", "SAW object FISH", {"IT": "her", "A": "her"}),  # I saw her duck
        ("question", "CAN one act", {}),  # can the light fish here
        (None, None, {"WATCH": "saw"}),  # the light can saw it
        ("object", "thing AND thing", {}),  # I saw a dog and the light rose
        (None, None, {"HERE": "light"}),  # they watch that light
    ],
)
def test_a_planted_ambiguity_is_found(monkeypatch, rule, alternative, word_in):
    if rule:
        monkeypatch.setattr(grammar, "RULES", {**RULES, rule: (*RULES[rule], alternative)})
    planted = {terminal: (LEXICON[terminal][0], (*LEXICON[terminal][1], word)) for terminal, word in word_in.items()}
    monkeypatch.setattr(grammar, "LEXICON", {**LEXICON, **planted})

    words, one_tags, other_tags = string_with_two_taggings()

    assert one_tags != other_tags
    assert {one_tags, other_tags} <= taggings(words, entries_by_length())


def test_the_kept_back_sentence_is_derivable_in_one_way():
    assert " ".join(KEPT_BACK) == "I saw a saw"
    assert taggings(KEPT_BACK, entries_by_length()) == {("PRON", "VERB", "DET", "NOUN")}


def test_the_kept_back_sentence_is_not_drawn(drawn):
    assert KEPT_BACK not in {sentence.words for sentence in drawn}


def test_the_kept_back_sentence_is_not_drawn_even_from_four(monkeypatch):
    few = {
        "WE": ("PRON", ("I", "you")),
        "SAW": ("VERB", ("saw",)),
        "A": ("DET", ("a",)),
        "IT": ("NOUN", ("saw", "dog")),
    }
    monkeypatch.setattr(grammar, "LEXICON", few)
    monkeypatch.setattr(grammar, "RULES", {"sentence": ("WE SAW A IT",)})
    strings = {" ".join(sentence.words) for sentence in sentences(3, seed=0)}
    assert strings == {"I saw a dog", "you saw a saw", "you saw a dog"}


def test_every_sentence_drawn_is_derivable_with_its_tags_only(drawn):
    entries = entries_by_length()
    assert all(taggings(sentence.words, entries) == {sentence.tags} for sentence in drawn)


def test_no_two_sentences_drawn_have_the_same_words(drawn):
    assert len(drawn) == len({sentence.words for sentence in drawn}) == 5000


def test_the_same_count_and_seed_give_the_same_sentences(drawn):
    assert sentences(5000, seed=7) == drawn
    assert sentences(5000, seed=11) != drawn
    assert sentences(0, seed=7) == []
    assert isinstance(drawn[0], Sentence)


def test_rules_and_lexicon_have_no_loose_ends():
    named = {part for alternatives in RULES.values() for alternative in alternatives for part in alternative.split()}
    assert named | {"sentence"} == set(RULES) | set(LEXICON)
    assert not set(RULES) & set(LEXICON)


def test_patterns_are_distinct_few_and_3_to_13_words_long():
    every = list(patterns())
    assert len(every) == len(set(every)) < 5000
    assert {len(pattern) for pattern in every} == set(range(3, 14))


def test_the_lexicon_is_small_and_holds_the_words_with_two_readings():
    words = {word for _, words in LEXICON.values() for word in words}
    assert 60 <= len(words) <= 90
    assert {*NOUN_AND_VERB, "fast", "this", "that", "to"} == AMBIGUOUS
    for word in NOUN_AND_VERB:
        assert {"NOUN", "VERB"} <= tags_of(word)
    assert tags_of("can") == {"NOUN", "VERB", "AUX"}
    assert tags_of("light") == {"NOUN", "VERB", "ADJ"}


def tags_of(word):
    return {tag for tag, words in LEXICON.values() if word in words}


def test_every_reading_of_every_word_is_frequent(drawn):
    seen = tag_counts(drawn[:4000])
    for tag, words in LEXICON.values():
        for word in words:
            assert seen[word][tag] >= 50, (word, tag)


@pytest.mark.parametrize("word", sorted(AMBIGUOUS))
def test_no_reading_of_an_ambiguous_word_is_rare(drawn, word):
    counts = tag_counts(drawn)[word]
    assert min(counts.values()) >= 0.1 * counts.total()


@pytest.mark.parametrize("seed", [2, 3, 5])
def test_half_of_all_words_are_ambiguous_and_looking_them_up_is_not_enough(seed):
    """What a tagger must beat: each word gets its most frequent tag of 4,000 sentences, judged on 1,000 others."""
    drawn = sentences(5000, seed)
    train, test = drawn[:4000], drawn[4000:]
    most_frequent = {word: counts.most_common(1)[0][0] for word, counts in tag_counts(train).items()}
    right = [[most_frequent[word] == tag for word, tag in zip(*sentence, strict=True)] for sentence in test]
    ambiguous = [word in AMBIGUOUS for sentence in test for word in sentence.words]

    assert 0.45 <= mean(ambiguous) <= 0.55
    assert 0.80 <= mean(chain.from_iterable(right)) <= 0.88
    assert mean(map(all, right)) <= 0.15


def tag_counts(drawn):
    counts = defaultdict(Counter)
    for sentence in drawn:
        for word, tag in zip(*sentence, strict=True):
            counts[word][tag] += 1
    return counts
