"""YAML in which a word keeps its spelling.

YAML 1.1 reads ``2024_01`` as the number 202401, ``1e3`` as 1000.0, ``10:30`` as 630 and ``no`` as
false. In settings these may be the names of a corpus, an edition or a language.
"""

import json

import yaml


def is_literal(text: str) -> bool:
    """Whether a text is null, a merge key, or a number or truth value in its usual spelling."""
    try:
        return json.dumps(json.loads(text)) == text
    except ValueError:
        return text in ("", "~", "<<")


def as_written(text: str) -> str:
    """A YAML document with quotes around each word that is not a literal.

    Raises `yaml.YAMLError` for a document that is not YAML.
    """
    parts, end = [], 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        is_plain = isinstance(event, yaml.ScalarEvent) and event.style is None
        # YAML reads a plain value with a space as text.
        if is_plain and " " not in event.value and not is_literal(event.value):
            word = event.value.replace("'", "''")
            parts += [text[end : event.start_mark.index], f"'{word}'"]
            end = event.end_mark.index
    return "".join([*parts, text[end:]])
