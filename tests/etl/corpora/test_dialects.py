"""The layouts of parsed corpora are recognised from their first lines."""

import gzip

import pytest

from adnominal.etl.corpora.dialects import (
    CONLLU,
    DEPCC,
    DEPCC_FLAT,
    UnknownDialect,
    blocks_in_usual_order,
    column_order,
    detect,
    in_usual_order,
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


ROW = b"1\told\tOlder\tADJ\tJJR\t_\t2\tamod\t_\t_\n"


def test_the_columns_of_conllu_plus_are_read_by_their_names():
    names = (
        b"# newdoc\n \t\n# global.columns = ID LEMMA FORM UPOS XPOS FEATS HEAD DEPREL DEPS MISC\n"
    )
    order = column_order(names + ROW)
    assert order is not None
    assert in_usual_order(names + ROW, order) == names + ROW.replace(b"old\tOlder", b"Older\told")


def test_columns_beside_the_ten_are_left_out_and_missing_ones_are_empty():
    names = b"# Global.Columns = ID FORM UPOS HEAD DEPREL PARSEME:MWE\r\n"
    order = column_order(names)
    assert order is not None
    rows = b"1\told\tADJ\t2\tamod\t*\r\n\t\n2\tdog\n"
    usual = b"1\told\t_\tADJ\t_\t_\t2\tamod\t_\t_\n\t\n2\tdog\n"
    assert in_usual_order(rows, order) == usual


@pytest.mark.parametrize(
    "head",
    [
        ROW,
        b"# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC\n" + ROW,
        ROW + b"# global.columns = ID HEAD\n",
    ],
)
def test_the_usual_columns_need_no_order(head):
    assert column_order(head) is None


@pytest.mark.parametrize(
    ("names", "fault"),
    [
        ("ID FORM LEMMA UPOS", "no HEAD, DEPREL"),
        ("ID UPOS HEAD DEPREL", "no FORM or LEMMA"),
        ("ID FORM FORM UPOS HEAD DEPREL", "FORM twice"),
        ("", "no ID, HEAD, DEPREL, FORM or LEMMA, UPOS or XPOS"),
    ],
)
def test_columns_without_what_is_counted_are_refused(names, fault):
    with pytest.raises(UnknownDialect, match=fault):
        column_order(f"# global.columns = {names}\n".encode() + ROW)


USUAL = b"# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC\n"
OTHER = b"# global.columns = ID LEMMA FORM UPOS XPOS FEATS HEAD DEPREL DEPS MISC\n"


@pytest.mark.parametrize(
    ("begin", "appended"),
    [(b"", OTHER), (USUAL, OTHER), (OTHER, USUAL), (b"", b"# global.columns = ID\n")],
)
def test_a_file_appended_to_one_with_other_columns_is_refused(begin, appended):
    blocks = [memoryview(begin + ROW + b"\n" + appended + ROW)]
    with pytest.raises(UnknownDialect, match=r"^# global\.columns = ID.*: "):
        list(blocks_in_usual_order(blocks, column_order(begin + ROW)))


@pytest.mark.parametrize(("begin", "appended"), [(b"", USUAL), (USUAL, b""), (OTHER, OTHER)])
def test_files_with_the_same_columns_may_be_joined(begin, appended):
    blocks = [memoryview(begin + ROW + b"\n"), memoryview(appended + ROW)]
    rows = b"".join(blocks_in_usual_order(blocks, column_order(begin + ROW))).split(b"\n")
    assert sum(b"amod" in row for row in rows) == 2


def test_utf_16_is_named():
    with pytest.raises(UnknownDialect, match="UTF-16; save it as UTF-8"):
        detect(ROW.decode().encode("utf-16"))


def test_conllu_plus_is_a_parsed_corpus_whatever_its_columns():
    assert (
        parsed_dialect(b"# global.columns = ID FORM UPOS HEAD DEPREL\n1\ta\tX\t0\troot\n") == CONLLU
    )
