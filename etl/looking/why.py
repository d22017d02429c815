"""``python -m etl.lake why ADJECTIVE NOUN``: what the corpora say about one pair, as text."""

from adnominal.conf import JobFailed
from adnominal.etl.lake import arrow
from adnominal.etl.looking.layout import format_table, number
from adnominal.etl.looking.pair import MEASURES, Pair, find_pair, missing_pair


def explain_pair(root: str, adjective: str, noun: str, limit: int) -> str:
    """Return counts by corpus, rank among the noun's adjectives, association and examples.

    Association and examples are included if their tables exist; at most `limit` examples.

    Raises:
        LakeError: there is no table amod_pairs.
        JobFailed: the pair is not in the table; similar spellings are suggested.
    """
    pair = find_pair(root, adjective, noun, limit)
    if pair is None:
        raise JobFailed(missing_pair(root, adjective, noun))
    blocks = [f"{pair.adjective} {pair.noun}", _counts(pair)]
    if "amod_association" not in arrow.tables(root):
        blocks.append("no table amod_association: no marginals, no measures")
    no_examples = "no example sentences (extract_amod.py keeps some on request)"
    blocks.append(_examples(pair) or no_examples)
    return "\n\n".join(blocks)


def _counts(pair: Pair) -> str:
    """The counts and measures, a line for each corpus."""
    lines = []
    for row in pair.counts.to_pylist():
        place = f"{number(row['rank'])} of {number(row['adjectives'])}"
        figures = [row[name] for name in MEASURES]
        lines.append([row["corpus"], row["count"], place, *figures])
    header = ("corpus", "count", f'rank with "{pair.noun}"', *MEASURES)
    return format_table(header, lines)


def _examples(pair: Pair) -> str:
    """The example sentences, each with its document and corpus in a second line."""
    lines = []
    for row in pair.examples.to_pylist():
        lines.append(" ".join(row["sentence"].split()))
        lines.append(f"    {row['document']} ({row['corpus']})")
    return "\n".join(lines)
