from collections import Counter
from dataclasses import replace

import pytest

from adnominal import conf
from adnominal.conf import UserError
from adnominal.etl.asp import TESTS
from adnominal.etl.asp.job import Recipe, build, degree_rows, entailment_rows
from adnominal.etl.asp.settings import Settings
from adnominal.etl.lake.spark import Lake
from tests.rows import write

SMALL = Settings(edition="small", entailment=20, degree=160, seed=4)


@pytest.fixture(scope="module")
def lake(spark, tmp_path_factory) -> Lake:
    root = str(tmp_path_factory.mktemp("lake"))
    build(replace(SMALL, lake=root))
    return Lake(spark, root)


def test_a_build_writes_the_rows_that_the_rules_give(lake):
    source = Recipe(SMALL).entailment()
    expected = {(*row, "small") for test in TESTS for row in source.rows(test, 0, 20)}
    assert {tuple(row) for row in lake.read("asp_entailment").collect()} == expected
    degree = Counter(row["test"] for row in lake.read("asp_degree").collect())
    assert degree == dict.fromkeys(TESTS, 160)


def test_the_splits_are_disjoint_and_balanced(lake):
    rows = {row["item_id"]: row for row in lake.read("asp_entailment").collect()}
    rows |= {row["item_id"]: row for row in lake.read("asp_degree").collect()}
    places: dict[tuple[str, str], dict[str, str]] = {}
    sizes: Counter[tuple[str, str, str, str]] = Counter()
    for row in lake.read("asp_splits").collect():
        parts = places.setdefault((row["scheme"], row["round"]), {})
        assert parts.setdefault(row["item_id"], row["part"]) == row["part"]
        if row["part"] != "test":
            label = rows[row["item_id"]]["label3"]
            sizes[row["scheme"], row["round"], row["part"], label] += 1
    by_part: dict[tuple[str, ...], set[int]] = {}
    for key, count in sizes.items():
        by_part.setdefault(key[:3], set()).add(count)
    assert by_part and all(len(counts) == 1 for counts in by_part.values())
    for number in range(4):
        adjectives: dict[str, set[str]] = {"train": set(), "test": set()}
        for item, part in places.get(("adjectives", str(number)), {}).items():
            row = rows[item]
            words = {row["adjective"], row["other_adjective"] or row["adjective"]}
            adjectives["test" if part == "test" else "train"] |= words
        assert adjectives["train"].isdisjoint(adjectives["test"])


def test_parts_that_lack_a_label_are_reported(spark, tmp_path, caplog):
    root = str(tmp_path / "lake")
    build(replace(SMALL, entailment=4, degree=400, lake=root))
    lines = [r.getMessage() for r in caplog.records if "no rows of" in r.getMessage()]
    rows = Lake(spark, root).read("asp_splits").collect()
    ids = {r["item_id"]: r["label3"] for r in Lake(spark, root).read("asp_entailment").collect()}
    parts: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        if row["scheme"] == "adjectives" and row["part"] != "test":
            parts.setdefault((row["round"], row["part"]), set()).add(ids[row["item_id"]])
    incomplete = {key for key, labels in parts.items() if len(labels) < 3}
    assert incomplete
    for round_, part in incomplete:
        assert [line for line in lines if f"round {round_}: " in line and f"part {part};" in line]
    assert len(lines) == len(incomplete)


TUNING = {"edition": "small_tuning"}


@pytest.fixture(scope="module")
def drawn_lake(spark, tmp_path_factory) -> Lake:
    """A lake with drawn rounds of degree estimation, where an earlier build had others as well."""
    root = str(tmp_path_factory.mktemp("drawn"))
    earlier = {**TUNING, "item_id": "earlier"}
    write(root, "asp_entailment", [{**earlier, "test": "ordering", "label": "entailment"}])
    write(root, "asp_splits", [{**earlier, "scheme": "adjectives", "round": "0", "part": "train"}])
    build(replace(SMALL, entailment=0, rounds="drawn", lake=root))
    return Lake(spark, root)


def test_drawn_rounds_replace_those_of_an_earlier_build(drawn_lake):
    assert drawn_lake.read("asp_entailment", where=TUNING).count() == 0
    assert drawn_lake.read("asp_degree", where=TUNING).count()
    schemes = {row["scheme"] for row in drawn_lake.read("asp_splits", where=TUNING).collect()}
    assert schemes == {"dimension"}


def test_discarded_rows_are_in_no_drawn_round(drawn_lake):
    rows = drawn_lake.read("asp_degree", where=TUNING).collect()
    discarded = {row["item_id"] for row in rows if row["label"] == "discard"}
    splits = drawn_lake.read("asp_splits", where=TUNING).collect()
    placed = {row["item_id"] for row in splits}
    assert discarded and placed == {row["item_id"] for row in rows} - discarded


def test_control_rows_are_an_edition_of_their_own(spark, tmp_path):
    root = str(tmp_path / "lake")
    control = replace(SMALL, lake=root, control="premise", rounds="drawn")
    build(control)
    lake = Lake(spark, root)
    for name in ("asp_entailment", "asp_degree"):
        rows = lake.read(name).select("edition", "premise").distinct().collect()
        assert {tuple(row) for row in rows} == {
            ("small_control_premise", ""),
            ("small_control_premise_tuning", ""),
        }
    placed = {row["item_id"] for row in lake.read("asp_splits").collect()}
    assert placed <= {
        row["item_id"]
        for name in ("asp_entailment", "asp_degree")
        for row in lake.read(name).collect()
    }


def test_rows_do_not_depend_on_the_partitioning(spark):
    by_partitioning = []
    for tasks in (1, 7):
        frames = [
            build_rows(spark, Recipe(replace(SMALL, degree=40, task_size=-(-size // tasks))))
            for build_rows, size in ((entailment_rows, 160), (degree_rows, 320))
        ]
        by_partitioning.append([sorted(map(tuple, frame.collect())) for frame in frames])
    assert by_partitioning[0] == by_partitioning[1]


def test_a_build_uses_the_pairs_and_judgements_of_the_lake(spark, tmp_path):
    root = str(tmp_path / "lake")
    pairs = [{"corpus": "mine", "adjective": "tall", "noun": "tree", "count": 3}]
    write(root, "amod_pairs", pairs)
    settings = replace(SMALL, entailment=0, degree=2000, corpus="mine", lake=root, splits=False)
    build(settings)
    dropped = Lake(spark, root).read("dropped").collect()
    assert {row["table"] for row in dropped} == {"asp_entailment", "asp_degree"}
    assert {row["reason"] for row in dropped} == {"combination not in mine"}
    assert min(row["count"] for row in dropped) > 5
    rows = Lake(spark, root).read("asp_degree").collect()
    nouns = {row["noun"] for row in rows if "tall" in (row["adjective"], row["other_adjective"])}
    assert nouns <= {"tree"}
    with pytest.raises(UserError, match=r"lexicon with 4 or more .* a lower min_count="):
        build(replace(settings, min_count=4))
    bicycle = {**pairs[0], "corpus": "tiny", "noun": "bicycle"}
    write(root, "amod_pairs", [{**bicycle, "adjective": word} for word in ("heavy", "light")])
    with pytest.raises(UserError, match=r"z_to=138 \(nouns of mass: bicycle\); .* min_count="):
        build(replace(settings, corpus="tiny"))
    human = [
        {"test": "ordering", "polarity": "positive", "z": 80.0, "share": 0.1, "n": 1, "fit": 0.0,
         "threshold": 100.0, "standard_error": 1.0, "source": "mine"}
    ]  # fmt: skip
    write(root, "asp_human", human)
    with pytest.raises(UserError, match="no judgements in asp_human of booster negative"):
        build(replace(settings, corpus=None, human="mine"))


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("degree=50", "multiple of 40"),
        ("entailment=-1", "0 or more"),
        ("z_from=200", "expected a range"),
        ("gold=empirical", "human=SOURCE"),
        ("variants=[]", "expected some of base"),
        ("variants=[base,base]", "the same value twice"),
        ("edition=paper_tuning", "expected a name that does not end in _tuning"),
        ("boosters=extremly", "boosters=extremly: expected some of very, .*mean 'extremely'"),
        ("diminishers=very", "diminishers=very: expected some of relatively, .*scales.yaml"),
    ],
)
def test_bad_settings_are_refused(argument, message):
    with pytest.raises(UserError, match=message):
        conf.load(Settings, [argument])


def test_the_preset_paper_sets_edition_boosters_and_balance():
    paper = conf.load(Settings, ["preset=paper"])
    assert (paper.name, paper.boosters, paper.balanced) == ("paper", ["very"], False)
