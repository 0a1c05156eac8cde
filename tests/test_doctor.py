"""What is odd about files of data."""

from test_cli import regard


def test_parallel_files_are_examined_together(tmp_path):
    pairs = [("ein Satz", "a sentence"), ("ein  Satz", "a sentence"), ("ein Satz", "one sentence")]
    pairs += [("", "nothing"), ("Ja", "yes, " * 4 + "certainly"), ("Amen", "Amen"), (" ", "")]
    for side, name in enumerate(("a.de", "a.en")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in pairs))
    found = regard("doctor", "--parallel", "a.de", "a.en", folder=tmp_path)
    assert found.out.splitlines() == [
        "a.de and a.en: read line by line",
        "  5 pairs, 8 words in the first file",
        "  1 pairs come again, word for word",
        "  1 pairs are the same on both sides: a.de:6",
        "  1 pairs are more than 9 times as long on one side: a.de:5",
        "  1 lines have two different counterparts: ein Satz",
        "  2 pairs are blank on one side, or on both: a.de:4;",
        "    a.de:7",
    ]


def test_parallel_files_of_different_length_are_told_with_their_counts(cases):
    source, target = cases / "b41_src.txt", cases / "b41_tgt.txt"
    found = regard("doctor", "--parallel", source, target)
    assert found.status == 0 and f"{source} has 3 lines and {target} has 4" in found.out
    assert regard("doctor", "--parallel", source).status == 2
