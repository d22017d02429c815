"""DepCC (Panchenko et al., LREC 2018): the parsed Common Crawl, which is not quite CoNLL-U.

Columns: ID FORM LEMMA XPOS XPOS FEATS HEAD DEPREL DEPS NER. Ids count from 0, the root's head is
the root itself, FEATS is the empty string, both tag columns have the Penn tag, and the relations
are Stanford's basic ones. A token without a dependency has no row, so ids have gaps: a head is
found by its id within the sentence, never by its position.

A part begins with ``# parser = …``; a document with a blank line and
``# newdoc<TAB>url = URL<TAB>s3 = PATH``; a sentence with a blank line, ``# sent_id = URL#n`` and
``# text = …``. The older, flat layout has none of these: a line ``>>>>><TAB>TEXT`` begins each
sentence, and no line ends it.
"""

from __future__ import annotations

from etl.corpora.conllu import Dialect

SENTENCE_MARK = b">>>>>"

DEPCC = Dialect("depcc", first_id=0, ranges=False)
DEPCC_FLAT = Dialect("depcc-flat", first_id=0, ranges=False)
