"""YAML in which a word keeps its spelling.

YAML 1.1 reads ``2024_01`` as the number 202401, ``1e3`` as 1000.0, ``10:30`` as 630 and ``no`` as
false. In settings these may be the names of a corpus, an edition or a language.
"""

import json
import re

import yaml

_MAX_DEPTH = 20  # OmegaConf itself reads some eighty
_STARTS = (
    yaml.BlockMappingStartToken,
    yaml.BlockSequenceStartToken,
    yaml.FlowMappingStartToken,
    yaml.FlowSequenceStartToken,
)
_ENDS = (yaml.BlockEndToken, yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken)


def is_literal(text: str) -> bool:
    """Whether a text is null, a merge key, or a number or truth value in its usual spelling."""
    try:
        return json.dumps(json.loads(text)) == text
    except ValueError:
        return text in ("", "~", "<<")


def as_written(text: str) -> str:
    """A YAML document with quotes around each word that is not a literal.

    Raises `yaml.YAMLError` for text that cannot be cut into YAML's tokens, and for values inside
    more than twenty others: libyaml reads them by recursion, without a limit of its own.
    """
    parts = []
    end = 0  # of what is in `parts`
    depth = 0
    for token in yaml.scan(text, Loader=yaml.SafeLoader):
        if isinstance(token, _STARTS):
            depth += 1
        elif isinstance(token, _ENDS):
            depth -= 1
        if depth > _MAX_DEPTH:
            raise yaml.YAMLError(f"nested more than {_MAX_DEPTH} deep")
        if _is_read_otherwise(token):
            parts.append(text[end : token.start_mark.index])
            quoted = token.value.replace("'", "''")
            parts.append(f"'{quoted}'")
            end = token.end_mark.index
    parts.append(text[end:])
    return "".join(parts)


def _is_read_otherwise(token: yaml.Token) -> bool:
    """Whether YAML may take a word without quotes for something else than a text."""
    if not isinstance(token, yaml.ScalarToken) or not token.plain:
        return False
    # A plain value of several words is a text.
    is_one_word = len(token.value.split()) == 1
    return is_one_word and not is_literal(token.value)


def reason_of(error: Exception) -> str:
    """Why YAML could not be read, in one line."""
    text = " ".join(str(error).split())
    limit = re.match(r"YAML node expansion exceeds the configured limit of (\d+)", text)
    if limit is None:
        return text
    # OmegaConf advises to raise the limit by an argument of its loader.
    return f"its aliases stand for more than {limit[1]} values; use fewer of them (*name)"
