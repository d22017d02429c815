"""``python -m etl.lake why ADJECTIVE NOUN``: what the corpora say about one pair."""

import difflib

from adnominal.conf import JobFailed
from adnominal.etl.lake import arrow
from adnominal.etl.looking.layout import aligned, number

_PARTNERS = 20_000  # of a word, the most frequent, searched for similar spellings


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def why(root: str, adjective: str, noun: str, limit: int) -> str:
    """Return counts by corpus, rank among the noun's adjectives, association and examples.

    The rank of a pair is 1 + the number of adjectives that occur more often with the noun in the
    corpus. Association and examples are included if their tables exist; at most `limit` examples.

    Raises:
        LakeError: there is no table amod_pairs.
        JobFailed: the pair is not in the table; similar spellings are suggested.
    """
    pair = f"adjective = {_quoted(adjective)} AND noun = {_quoted(noun)}"
    pair_counts = arrow.records(
        root,
        "amod_pairs",
        f'SELECT corpus, "count" FROM amod_pairs WHERE {pair} ORDER BY "count" DESC, corpus',
    )
    if not pair_counts:
        raise JobFailed(_missing_pair_message(root, adjective, noun))
    table_names = arrow.tables(root)
    ranks = _ranks(root, noun, {row["corpus"]: row["count"] for row in pair_counts})
    measures = {}
    if "amod_association" in table_names:
        sql = f"SELECT * FROM amod_association WHERE {pair}"
        measures = {row["corpus"]: row for row in arrow.records(root, "amod_association", sql)}
    names = ("adjective_count", "noun_count", "pmi", "npmi", "log_dice")
    lines = []
    for row in pair_counts:
        rank, adjectives = ranks[row["corpus"]]
        place = f"{number(rank)} of {number(adjectives)}"
        association = measures.get(row["corpus"], {})
        figures = (association.get(name) for name in names)
        lines.append([row["corpus"], row["count"], place, *figures])
    header = ("corpus", "count", f'rank with "{noun}"', *names)
    blocks = [f"{adjective} {noun}", aligned(header, lines)]
    if "amod_association" not in table_names:
        blocks.append("no table amod_association: no marginals, no measures")
    examples = []
    if "amod_examples" in table_names:
        sql = (
            f"SELECT sentence, document, corpus FROM amod_examples WHERE {pair} "
            f"ORDER BY corpus, document, sentence LIMIT {limit}"
        )
        examples = [
            f"{' '.join(row['sentence'].split())}\n    {row['document']} ({row['corpus']})"
            for row in arrow.records(root, "amod_examples", sql)
        ]
    no_examples = "no example sentences (extract_amod.py keeps some on request)"
    blocks.append("\n".join(examples) or no_examples)
    return "\n\n".join(blocks)


def _ranks(root: str, noun: str, counts: dict[str, int]) -> dict[str, tuple[int, int]]:
    cases = " ".join(f"WHEN {_quoted(name)} THEN {count}" for name, count in counts.items())
    corpora = ", ".join(_quoted(name) for name in counts)
    rows = arrow.records(
        root,
        "amod_pairs",
        f'SELECT corpus, sum(CASE WHEN "count" > CASE corpus {cases} END THEN 1 ELSE 0 END) AS '
        f"above, count(*) AS adjectives FROM amod_pairs WHERE noun = {_quoted(noun)} "
        f"AND corpus IN ({corpora}) GROUP BY corpus",
    )
    return {row["corpus"]: (int(row["above"]) + 1, int(row["adjectives"])) for row in rows}


def _missing_pair_message(root: str, adjective: str, noun: str) -> str:
    parts = [f"no pair {adjective!r} {noun!r} in amod_pairs of lake={root}"]
    for word, column, other_word, partner in (
        (adjective, "adjective", noun, "noun"),
        (noun, "noun", adjective, "adjective"),
    ):
        sql = (
            f'SELECT {partner}, sum("count") AS n FROM amod_pairs WHERE {column} = {_quoted(word)} '
            f"GROUP BY {partner} ORDER BY n DESC LIMIT {_PARTNERS}"
        )
        partners = [row[partner] for row in arrow.records(root, "amod_pairs", sql)]
        if not partners:
            parts.append(f"the {column} {word!r} is in no pair")
            continue
        close_matches = difflib.get_close_matches(other_word, partners, n=3, cutoff=0.6)
        suggestions = close_matches or partners[:3]
        kind = "near" if close_matches else "most often"
        parts.append(f"{partner}s seen with {word!r}, {kind}: {', '.join(suggestions)}")
    return "; ".join(parts)
