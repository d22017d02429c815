"""Each rule of the reference, on a literal sentence."""

import pytest

from adnominal.etl.amod.reference import Stats, Tally, sentences
from adnominal.etl.amod.rules import CLEAN
from adnominal.etl.corpora.dialects import CONLLU, DEPCC, DEPCC_FLAT

BIG = "0\tBig\tbig\tJJ\tJJ\t\t1\tamod\t1:amod\tO"
DOGS = "1\tdogs\tdog\tNNS\tNNS\t\t2\tnsubj\t2:nsubj\tO"
BARK = "2\tbark\tbark\tVBP\tVBP\t\t2\tROOT\t2:ROOT\tO"


def read(*lines, dialect=DEPCC):
    stats = Stats()
    data = "\n".join(lines).encode("utf-8", "surrogateescape") + b"\n"
    parsed = list(sentences([data], dialect, CLEAN, stats))
    return parsed, stats


def pairs(*lines, dialect=DEPCC):
    return [pair for sentence in read(*lines, dialect=dialect)[0] for pair in sentence.pairs]


def test_a_sentence_gives_pairs_text_rows_and_statistics():
    parsed, stats = read("# text = Big dogs bark", BIG, DOGS, BARK)
    assert [s.pairs for s in parsed] == [[("big", "dog")]]
    assert parsed[0].text == "Big dogs bark"
    assert parsed[0].rows.decode() == f"{BIG}\n{DOGS}\n{BARK}"
    assert stats == Stats(lines=4, bytes=131, sentences=1, tokens=3, amod=1, pairs=1)


def test_heads_are_found_by_id_across_gaps():
    assert pairs(BIG.replace("\t1\tamod", "\t7\tamod"), BARK, "7" + DOGS[1:]) == [("big", "dog")]


def test_rows_may_be_in_any_order():
    assert pairs(BARK, DOGS, BIG) == [("big", "dog")]


@pytest.mark.parametrize("between", ["", "\r", "# text = x", "#", ">>>>>\tx", ">>>>>"])
def test_blank_lines_and_comments_end_a_sentence(between):
    parsed, stats = read(BIG, between, DOGS, BARK)
    assert [len(s.rows.splitlines()) for s in parsed] == [2]
    assert stats.sentences == 1  # the first has no token, as its only row lacks its head
    assert stats.rejected["head_missing"] == Tally(1, 1, BIG)


def test_relations_with_names_similar_to_amod_are_ignored():
    for relation in ("amod:x", "AMOD", "amo", "namod", ""):
        assert read(BIG.replace("amod\t1", relation + "\t1"), DOGS, BARK)[1].amod == 0


def test_a_self_headed_amod_row_is_rejected_but_can_be_a_head():
    noun = DOGS.replace("\t2\tnsubj", "\t1\tamod")
    parsed, stats = read(BIG, noun, BARK)
    assert parsed[0].pairs == [("big", "dog")]
    assert stats.rejected == {"self_head": Tally(1, 2, noun)}
    assert stats.tokens == 2


def test_heads_of_other_relations_may_be_missing():
    assert read(BIG, DOGS)[1].rejected == {}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("1\tdogs\0\tdog\tNNS\tNNS\t\t2\tnsubj\t_\tO", "nul"),
        ("1\tdogs\udcff\tdog\tNNS\tNNS\t\t2\tnsubj\t_\tO", "utf8"),
        ("1\tdogs\udced\udca0\udc80\tdog\tNNS\tNNS\t\t2\tnsubj\t_\tO", "utf8"),
        ("1\tdogs\tdog\tNNS\tNNS\t2\tnsubj\t_\tO", "columns"),
        ("1\tdogs\tdog\tNNS\tNNS\t\t\t2\tnsubj\t_\tO", "columns"),
        ("dogs", "columns"),
        ("x\tdogs\tdog\tNNS\tNNS\t\t2\tnsubj\t_\tO", "id"),
        ("\tdogs\tdog\tNNS\tNNS\t\t2\tnsubj\t_\tO", "id"),
        ("01\tdogs\tdog\tNNS\tNNS\t\t2\tnsubj\t_\tO", "id"),
        ("-1\tdogs\tdog\tNNS\tNNS\t\t2\tnsubj\t_\tO", "id"),
        ("1-2\tdogs\tdog\tNNS\tNNS\t\t2\tnsubj\t_\tO", "id"),
        ("123456789\tdogs\tdog\tNNS\tNNS\t\t2\tnsubj\t_\tO", "id"),
        ("١\tdogs\tdog\tNNS\tNNS\t\t2\tnsubj\t_\tO", "id"),
        ("1\tdogs\tdog\tNNS\tNNS\t\t-2\tnsubj\t_\tO", "head"),
        ("1\tdogs\tdog\tNNS\tNNS\t\t_\tnsubj\t_\tO", "head"),
        ("1\tdogs\tdog\tNNS\tNNS\t\t\tnsubj\t_\tO", "head"),
        ("1\tdogs\tdog\tNNS\tNNS\t\t1e1\tnsubj\t_\tO", "head"),
    ],
)
def test_malformed_rows_are_rejected_with_a_reason(row, reason):
    parsed, stats = read(BIG, row, BARK)
    assert parsed[0].pairs == []
    sample = row.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    assert stats.rejected == {reason: Tally(1, 2, sample), "head_missing": Tally(1, 1, BIG)}
    assert stats.tokens == 1
    assert stats.rejected_lines == 2


def test_a_repeated_id_rejects_the_sentence():
    parsed, stats = read(BIG, DOGS, DOGS.replace("dog", "cat"), "", BIG, DOGS)
    assert [s.pairs for s in parsed] == [[("big", "dog")]]
    assert stats.rejected == {"duplicate_id": Tally(3, 3, DOGS.replace("dog", "cat"))}
    assert stats.sentences == 1


def test_samples_are_the_first_200_bytes():
    _, stats = read("é" * 150)
    assert stats.rejected["columns"].sample == "é" * 100


def test_crlf_line_ends_are_noted():
    parsed, stats = read(BIG + "\r", DOGS + "\r", "\r", "# x")
    assert parsed[0].pairs == [("big", "dog")]
    assert stats.notes == {"crlf": 3}
    assert stats.rejected == {}
    assert b"\r" not in parsed[0].rows


def test_amod_rows_that_give_no_pair_are_counted_by_reason():
    used = BIG.replace("JJ", "VBN")
    _, stats = read(
        used, DOGS, "", BIG, DOGS.replace("NNS", "NNP"), "", BIG.replace("Big", "-"), DOGS
    )
    assert {reason: tally.lines for reason, tally in stats.left_out.items()} == {
        "dependent_not_adjective": 1,
        "head_not_noun": 1,
        "no_letter_or_digit": 1,
    }
    assert stats.left_out["head_not_noun"] == Tally(1, 4, BIG)
    assert (stats.amod, stats.pairs, stats.tokens) == (3, 0, 6)


def test_conllu_ranges_and_empty_nodes_are_not_tokens():
    lines = [
        "# newdoc id = d1",
        "1-2\tBigdogs\t_\t_\t_\t_\t_\t_\t_\t_",
        "1\tbig\tbig\tADJ\tJJ\t_\t2\tamod\t_\t_",
        "2\tdogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\t_",
        "2.1\tbark\tbark\tVERB\t_\t_\t_\t_\t_\t_",
    ]
    parsed, stats = read(*lines, dialect=CONLLU)
    assert parsed[0].pairs == [("big", "dog")]
    assert (parsed[0].document, parsed[0].text) == ("d1", "big dogs")
    assert (stats.tokens, stats.rejected) == (2, {})


@pytest.mark.parametrize("identifier", ["0", "0-1", "1-", "-1", "1.", ".1", "1-2-3", "2.0", "1–2"])
def test_invalid_conllu_ids_are_rejected(identifier):
    row = f"{identifier}\tdogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\t_"
    assert list(read(row, dialect=CONLLU)[1].rejected) == ["id"]


def test_the_root_of_conllu_is_not_a_row():
    row = "1\tbig\tbig\tADJ\tJJ\t_\t0\tamod\t_\t_"
    assert list(read(row, dialect=CONLLU)[1].rejected) == ["head_missing"]


def test_the_document_is_carried_from_block_to_block():
    block = f"# newdoc\turl = http://a.b/?c=d\ts3 = s3://x\n\n{BIG}\n{DOGS}\n\n".encode()
    parsed = list(sentences([block, f"{BARK}\n".encode()], DEPCC, CLEAN, Stats()))
    assert [s.document for s in parsed] == ["http://a.b/?c=d"] * 2
    assert [s.text for s in parsed] == ["Big dogs", "bark"]


def test_a_text_belongs_to_the_rows_right_after_it():
    parsed, _ = read("# text = not parsed", "", BARK, "# text = parsed", BARK)
    assert [s.text for s in parsed] == ["bark", "parsed"]


def test_the_flat_layout_of_depcc_has_texts_but_no_documents():
    parsed, stats = read(">>>>>\tBig dogs.", BIG, DOGS, ">>>>>\tBark!", BARK, dialect=DEPCC_FLAT)
    assert [(s.text, s.pairs, s.document) for s in parsed] == [
        ("Big dogs.", [("big", "dog")], ""),
        ("Bark!", [], ""),
    ]
    assert (stats.sentences, stats.lines) == (2, 5)
