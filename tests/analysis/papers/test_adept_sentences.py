"""ADEPT's sentences by the log-probability of a language model, on a lake with literal scores."""

import json
import math
from typing import Any

import pytest

from adnominal.analysis.editions import open_lake
from adnominal.analysis.papers.adept import PAGE, sentences
from adnominal.analysis.papers.adept.sentences import measures, surprisal
from adnominal.analysis.papers.exhibits import Missing
from adnominal.training.finished_runs import Run, Runs
from tests.rows import adept_row, write

WHERE = "edition = 'published' AND split_random = 'val'"
# Adjective, label, and the log-probabilities of the adjective and of the verb after it.
ROWS = [("dead", 0, -9.0, -8.0), ("old", 2, -3.0, -4.0), ("red", 2, -5.0, -4.5)]
ROWS += [("hungry", 3, -6.0, -2.0)]


def tokens(adjective, of_adjective, of_verb):
    """The tokens of *A dog barks.*, with the adjective before the noun if there is one."""
    logs = [("A", -1.0), (adjective, of_adjective), ("dog", -5.0), ("barks", of_verb), (".", -0.5)]
    result, start = [], 0
    for piece, log in logs:
        if piece is not None:
            start -= piece == "."
            result.append([piece, start, log])
            start += len(piece) + 1
    return result


@pytest.fixture
def page(tmp_path):
    lake = str(tmp_path)
    items = [adept_row(f"i-{row[0]}", row[0], "dog", row[1], split_random="val") for row in ROWS]
    # The same item in another part, with another label, was not asked for.
    items.append({**items[0], "label": 4, "split_random": "train"})
    write(lake, "adept", items)
    answers = []
    for adjective, _, of_adjective, of_verb in ROWS:
        both = [tokens(None, 0.0, -4.0), tokens(adjective, of_adjective, of_verb)]
        scores = [math.fsum(token[2] for token in own) for own in both]
        answer: dict[str, Any] = {
            "run_id": "r1",
            "task": "adept",
            "edition": "published",
            "scheme": "logprob",
        }
        answer |= {"item_id": f"i-{adjective}", "scores": scores, "text": json.dumps(both)}
        answers.append({**answer, "model": "gpt2"})
    write(lake, "predictions", answers)
    params = {"table": "adept", "where": WHERE, "model_name": "x/gpt2", "kind": "causal"}
    runs = Runs((Run("r1", "logprob", 1, params, group="g"),))
    return PAGE.context(open_lake(lake), runs)


def rows_by_key(page):
    section = sentences.log_probability.section("adept", page)
    return {(row["table_name"], row["row"], row["column"]): row for row in section.rows}


def test_changes_are_compared_with_labels(page):
    rows = rows_by_key(page)
    table = "Change by gpt2, against people's labels (4 pairs)"
    others = rows[table, "all words but the adjective", "Spearman's rho"]
    # Changes of the other words are -4, 0, -0.5 and 2, of labels 0, 2, 2 and 3.
    assert others["ours"] == pytest.approx(0.9486832980505138)
    assert (others["n"], others["model"], others["runs"]) == (4, "gpt2", ["r1"])
    assert rows[table, "whole sentences", "Spearman's rho"]["ours"] == pytest.approx(0.632455532)
    direction = rows[table, "whole sentences", "right direction"]
    assert (direction["ours"], direction["n"]) == (0.5, 2)
    assert rows[table, "all words but the adjective", "right direction"]["ours"] == 1
    assert rows[table, "always less plausible", "right direction"]["ours"] == 0.5


def test_means_are_by_label(page):
    rows = rows_by_key(page)
    changes = "Mean change by gpt2 and label, in nats"
    assert rows[changes, "equally likely", "pairs"]["ours"] == 2
    assert rows[changes, "equally likely", "whole sentences"]["ours"] == pytest.approx(-4.25)
    assert rows[changes, "impossible", "all words but the adjective"]["ours"] == pytest.approx(-4)
    assert rows[changes, "all", "whole sentences"]["n"] == 4
    surprisals = "Mean surprisal by gpt2 and label, in nats"
    assert rows[surprisals, "impossible", "adjective"]["ours"] == pytest.approx(9)
    assert rows[surprisals, "all", "adjective"]["ours"] == pytest.approx(5.75)
    assert rows[surprisals, "all", "noun without the adjective"]["ours"] == pytest.approx(5)


def test_without_a_run_the_command_is_shown(page):
    empty = PAGE.context(page.lake, Runs())
    section = sentences.log_probability.section("adept", empty)
    (missing,) = section.findings
    assert isinstance(missing, Missing) and "adept_logprob.yaml" in missing.command
    assert section.rows == []


def test_surprisal_is_that_of_all_tokens_of_a_word_with_its_space():
    own = [("A", 0, -1.0), (" steam", 1, -2.0), ("-driven", 7, -3.0), (" ", 14, -0.5)]
    own += [("engine", 15, -4.0), (".", 21, -9.0)]
    text = "A steam-driven engine."
    assert surprisal(text, "steam-driven", own) == 5
    assert surprisal(text, "Engine", own) == 4.5
    assert math.isnan(surprisal(text, "steam", own))
    row = {"sentence1": "A key.", "sentence2": text, "modifier": "steam-driven", "noun": "engine"}
    of_row = measures(row, [("A", 0, -1.0)], own)
    assert math.isnan(of_row["noun without the adjective"])
    assert of_row["noun with the adjective"] == 4.5
    assert of_row["whole sentences"] == -18.5
    assert of_row["all words but the adjective"] == -13.5
