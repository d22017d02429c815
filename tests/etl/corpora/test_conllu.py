"""The constants of CoNLL-U describe the treebank."""

from adnominal.etl.corpora import dialects


def test_columns_ids_and_tags_of_the_treebank(shared_data):
    text = (shared_data / "ud_ewt/en_ewt-ud-dev.conllu").read_text(encoding="utf-8")
    sentences = [
        [line.split("\t") for line in sentence.split("\n") if line and line[0] != "#"]
        for sentence in text.strip().split("\n\n")
    ]
    rows = [row for sentence in sentences for row in sentence]
    assert {len(row) for row in rows} == {dialects.COLUMNS}
    assert all(row[dialects.FEATS] for row in rows)
    plain = [row for row in rows if row[dialects.ID].isdigit()]
    assert dialects.CONLLU.ranges and len(plain) < len(rows)
    assert min(int(row[dialects.ID]) for row in plain) == dialects.CONLLU.first_id == 1
    assert {row[dialects.DEPREL] for row in plain if row[dialects.HEAD] == "0"} == {"root"}
    superlatives = {row[dialects.UPOS] for row in plain if row[dialects.XPOS] == "JJS"}
    assert superlatives <= {"ADJ", "ADV", "PROPN"}
