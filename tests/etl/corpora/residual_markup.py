"""Residual markup in running text, the quality measure for `etl.corpora.wikitext`."""

import re
from collections import Counter

# By kind: strings of which the text must contain one (a fast test), and the pattern.
_PATTERNS: dict[str, tuple[tuple[str, ...], re.Pattern[str]]] = {
    kind: (tuple(needles.split()), re.compile(pattern))
    for kind, needles, pattern in (
        ("link", "[[ ]]", r"\[\[|\]\]"),
        ("template", "{{ }}", r"\{\{|\}\}"),
        ("table", "{| |} || |-", r"\{\||\|\}|\|\||\|-"),
        ("pipe", "|", r"(?<![|{])\|(?![|}-])"),
        ("quotes", "''", r"''+"),
        ("tag", "<", r"</?[a-zA-Z]+(?=[\s/>])"),
        ("comment", "<!-- -->", r"<!--|-->"),
        ("entity", "&", r"&(?:#\d+|#x[0-9a-fA-F]+|[a-zA-Z]{2,10});"),
        ("url", ":// www.", r"\b(?:https?|ftp)://|\bwww\."),
        (
            "file",
            "File: Image: Category: Media: thumb px",
            r"\b(?:File|Image|Category|Media):|\bthumb\b(?=\||$)|\b\d+px\b",
        ),
        (
            "attribute",
            "=",
            r"\b(?:style|class|align|valign|width|colspan|rowspan|bgcolor|cellpadding)\s*=",
        ),
        ("heading", "==", r"==+"),
        ("switch", "__", r"__[A-Z]{3,}__"),
        ("parentheses", "( ) [", r"\(\s*\)|\[\s*\]|\(\s*[;,:]|[;,]\s*\)"),
        ("list", "* # : ;", r"(?m:^[*#:;]+)"),
        (
            "reference",
            "ISBN accessdate cite",
            r"\bISBN\s*=|\baccessdate\b|\bcite (?:web|book|news|journal)\b",
        ),
    )
}


def residual_markup(text: str) -> Counter[str]:
    """The count of each kind of markup in running text.

    The kinds are link brackets, template braces, table markup and single pipes, doubled
    apostrophes, tags, comments, entities, URLs (with scheme or ``www.``), words of files and of
    table attributes, ``==``, behaviour switches, parentheses that are empty or start or end with a
    separator, list markers at the start of a line, and citation parameters. A character that an
    article uses literally (a pipe in an article about pipes) counts too.
    """
    counts: Counter[str] = Counter()
    for kind, (needles, pattern) in _PATTERNS.items():
        if any(needle in text for needle in needles):
            count = sum(1 for _ in pattern.finditer(text))
            if count:
                counts[kind] = count
    return counts
