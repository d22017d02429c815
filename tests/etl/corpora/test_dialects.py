"""The layouts of parsed corpora are recognised from their first lines."""

import gzip

import pytest

from adnominal.etl.corpora.dialects import (
    CONLLU,
    DEPCC,
    DEPCC_FLAT,
    UnknownDialect,
    detect,
    parsed_dialect,
)

DEPCC_ROWS = b"0\tBig\tbig\tJJ\tJJ\t\t1\tamod\t_\tO\n1\tdogs\tdog\tNNS\tNNS\t\t1\tROOT\t_\tO\n"
CONLLU_ROWS = (
    b"1-2\tBigdogs\t_\t_\t_\t_\t_\t_\t_\t_\n"
    b"1\tBig\tbig\tADJ\tJJ\tDegree=Pos\t2\tamod\t_\t_\n"
    b"2\tdogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\t_\n"
)


@pytest.mark.parametrize(
    ("head", "dialect"),
    [
        (DEPCC_ROWS, DEPCC),
        (b"# parser = x\n# newdoc\turl = u\ts3 = s\n# sent_id = u#1\n" + DEPCC_ROWS, DEPCC),
        (b">>>>>\tBig dogs\n" + DEPCC_ROWS, DEPCC_FLAT),
        (CONLLU_ROWS, CONLLU),
        (b"\xef\xbb\xbf# newdoc id = d\n\n# sent_id = 1\n" + CONLLU_ROWS, CONLLU),
        (CONLLU_ROWS.replace(b"\n", b"\r\n"), CONLLU),
        (DEPCC_ROWS.split(b"\n")[1], DEPCC),  # one line without a newline, whose ids begin at 1
        (b"garbage\n\n" + DEPCC_ROWS, DEPCC),
        (DEPCC_ROWS + b"2\tx\tx\tNN\tN", DEPCC),  # cut off at the end of the head
        (CONLLU_ROWS + b"0\tdamaged\n", CONLLU),
    ],
)
def test_a_layout_is_detected_from_the_first_rows(head, dialect):
    assert detect(head) is dialect


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (b"", "no row of tokens in the first 0 bytes"),
        (b"# only comments\n\n", "no row of tokens in the first 17 bytes"),
        (b"Plain text, no columns.\n", "the first row is 'Plain text, no columns.'"),
        (b"a\tb\tc\td\te\tf\tg\th\ti\tj\n", "the first row is"),
        (b"1\tBig\tbig\tADJ\n", "expected 10 tab-separated columns"),
        (b"1\tBig\tbig\tADJ\tJJ\t_\tx\tamod\t_\t_\n", "depcc, depcc-flat, conllu"),
    ],
)
def test_an_unknown_layout_is_refused(head, message):
    with pytest.raises(UnknownDialect, match=message):
        detect(head)


@pytest.mark.parametrize(
    ("head", "dialect"),
    [
        (CONLLU_ROWS, CONLLU),
        (b"\xef\xbb\xbf# text = Big dogs\r\n" + CONLLU_ROWS.replace(b"\n", b"\r\n"), CONLLU),
        (DEPCC_ROWS, DEPCC),
        (b">>>>>\tBig dogs\n" + DEPCC_ROWS, DEPCC_FLAT),
        (CONLLU_ROWS * 10 + b"a damaged row\n", CONLLU),
        (b"", None),
        (b"Big dogs bark.\n\nThey do.\n", None),
        (b"An example of a parsed sentence:\n" + CONLLU_ROWS, None),
        (b"1\tBig\tbig\n2\tdogs\tdog\n", None),
        (b"a\tb\tc\td\te\tf\tg\th\ti\tj\n" * 3, None),
        (b"\t".join([b"1"] * 9 + [b"Prose in a table.\n"]), None),
    ],
)
def test_only_clearly_parsed_corpora_are_recognised_among_texts(head, dialect):
    assert parsed_dialect(head) is dialect


@pytest.mark.parametrize(
    ("path", "dialect"),
    [
        ("ud_ewt/en_ewt-ud-dev.conllu", CONLLU),
        ("ud_ewt/rebuilt-train.conllu.gz", CONLLU),
        ("depcc/conll.csv", DEPCC),
        ("depcc/conll-wo-enhanced-deps.csv", DEPCC),
        ("depcc/conll-1000-tokens.csv.gz", DEPCC),
        ("depcc/conll-large.csv.gz", DEPCC_FLAT),
    ],
)
def test_the_layouts_of_the_published_samples_are_detected(shared_data, path, dialect):
    data = (shared_data / path).read_bytes()
    if path.endswith(".gz"):
        data = gzip.decompress(data)
    assert detect(data[:65536]) is parsed_dialect(data[:65536]) is dialect
