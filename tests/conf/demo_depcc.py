"""Build the demo's DepCC part from its sentences: ``python -m tests.conf.demo_depcc``.

Reads ``conf/demo/depcc_sentences.txt``, parses it with spaCy's ``en_core_web_sm`` and writes
``conf/demo/depcc-part.gz`` in the layout of DepCC (Panchenko et al., LREC 2018): ids from 0, the
root its own head, the Penn tag twice, empty FEATS, Stanford relations, collapsed dependencies. The
same sentences and the same model give the same bytes.

Relations are spaCy's, renamed to those of Stanford basic dependencies. The trees are spaCy's, so a
copula governs its predicate, unlike in DepCC. Named entities are not tagged (NER is O throughout).
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from adnominal.conf import ROOT, UserError
from adnominal.etl.parsing.spacy_parser import find_model

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

DEMO = ROOT / "conf" / "demo"
SENTENCES = DEMO / "depcc_sentences.txt"
PART = DEMO / "depcc-part.gz"

# spaCy's relations with another name in Stanford; `acl` and `dative` depend on the token.
STANFORD = {
    "agent": "prep",
    "case": "possessive",
    "compound": "nn",
    "intj": "dep",
    "meta": "dep",
    "nmod": "nn",
    "nummod": "num",
    "oprd": "dep",
    "relcl": "rcmod",
}


def pages(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Each web page's URL and sentences; a blank line ends a page, ``#`` starts a comment.
    `UserError` if a page has no address or no sentences."""
    page: list[str] = []
    for line in [*lines, ""]:
        text = line.strip()
        if text and not text.startswith("#"):
            page.append(text)
        elif page and not text:
            if not page[0].startswith("http://") or len(page) == 1:
                raise UserError(
                    f"a page begins with {page[0]!r} and has {len(page) - 1} sentences; "
                    "expected its http:// address, then at least one sentence"
                )
            yield page[0], page[1:]
            page = []


def relation(token: Token) -> str:
    """The Stanford basic relation of a token to its head."""
    if token.dep_ == "acl":
        return "infmod" if token.tag_ == "VB" else "partmod"
    if token.dep_ == "dative":
        return "prep" if token.tag_ in ("IN", "TO") else "iobj"
    return STANFORD.get(token.dep_) or str(token.dep_)


def conjunction(token: Token) -> str:
    """The word that joins a token to its next conjunct; "and" if there is none. In "a, b and c" it
    depends on b and also names the relation of b to a."""
    for child in token.children:
        if child.dep_ == "cc":
            return str(child.lower_)
    return next((conjunction(child) for child in token.children if child.dep_ == "conj"), "and")


def collapse(token: Token) -> str:
    """The DEPS column: prepositions and conjunctions are part of relation names, not tokens; ``_``
    marks a token that is absorbed into a relation name."""
    head = token.head
    if token.dep_ in ("pobj", "pcomp"):
        if head.dep_ == "agent":
            return f"{head.head.i}:agent"
        name = "prep" if token.dep_ == "pobj" else "prepc"
        return f"{head.head.i}:{name}_{head.lower_}"
    if token.dep_ == "conj":
        return f"{head.i}:conj_{conjunction(head)}"
    absorbed = token.dep_ in ("cc", "case") or any(
        child.dep_ in ("pobj", "pcomp") for child in token.children
    )
    return "_" if absorbed else f"{head.i}:{relation(token)}"


def rows(sentence: Doc) -> list[str]:
    """The token lines of one sentence; `UserError` if the parser splits it into several.

    Punctuation inside a sentence has no dependency in DepCC and thus no row: the ids have gaps.
    """
    roots = [token.text for token in sentence if token.dep_ == "ROOT"]
    if len(roots) != 1:
        raise UserError(
            f"{sentence.text!r} was parsed as {len(roots)} sentences (roots: {roots}); "
            "expected one: rephrase it"
        )
    lines = []
    for token in sentence:
        inside = token.i < len(sentence) - 1
        if inside and token.dep_ == "punct" and not list(token.children):
            continue
        tag = token.tag_
        columns = [token.i, token.text, token.lemma_, tag, tag, "", token.head.i]
        lines.append("\t".join(map(str, [*columns, relation(token), collapse(token), "O"])))
    return lines


def build(lines: Iterable[str]) -> bytes:
    """The uncompressed part for the lines of a file of sentences; `UserError` if spaCy or its model
    is missing, or a page or sentence is not as expected."""
    model = find_model(None)
    import spacy

    nlp = spacy.load(model, exclude=["ner"])
    out = [
        f"# parser = spaCy, en_core_web_sm {nlp.meta['version']}; relations renamed to Stanford's."
    ]
    for url, sentences in pages(lines):
        out += ["", f"# newdoc\turl = {url}\ts3 = s3://example/demo/CC-DEMO-00000.warc.gz"]
        for number, doc in enumerate(nlp.pipe(sentences), 1):
            out += ["", f"# sent_id = {url}#{number}", f"# text = {doc.text}", *rows(doc)]
    return ("\n".join(out) + "\n").encode()


def main() -> int:
    """Write the part next to its sentences; return the exit code."""
    try:
        part = build(SENTENCES.read_text(encoding="utf-8").splitlines())
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    # No timestamp and no file name in the archive, so that equal content gives equal bytes.
    PART.write_bytes(gzip.compress(part, mtime=0))
    print(f"{PART.name}: {part.count(b'# sent_id')} sentences, {PART.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
