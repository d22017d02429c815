"""The commands for missing results name editions of the lake instead of the settings files'."""

import pytest

from adnominal.analysis.editions import open_lake
from adnominal.analysis.papers.commands import Commands
from adnominal.analysis.papers.exhibits import Missing, Section
from tests.rows import write

FINETUNE = "python training/finetune.py conf/training"
PROMPT = "python training/prompt.py conf/training/plane_prompt.yaml lake=LAKE"
SCORE = "python training/score.py conf/training/asp_score.yaml model=MODEL lake=LAKE"


def parts(lake, dataset, edition, scheme, *names):
    rows = [{"scheme": scheme, "part": part, "edition": edition} for part in names]
    write(lake, f"{dataset}_splits", rows)


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """Published and demo editions; PLANE's demo and SyGNS's release have no training part."""
    root = str(tmp_path_factory.mktemp("lake"))
    for edition in ("published", "demo"):
        write(root, "adept", [{"item_id": "a", "edition": edition}])
        write(root, "asp_entailment", [{"item_id": "e", "edition": edition}])
        write(root, "plane_items", [{"item_id": "p", "class": "I", "edition": edition}])
        write(root, "sygns", [{"sentence_id": "s", "edition": edition}])
    parts(root, "asp", "published", "adjectives", "test", "leaking")
    parts(root, "asp", "published_tuning", "adjectives", "train", "val")
    parts(root, "asp", "demo", "adjectives", "train", "val", "test")
    parts(root, "plane", "published", "published", "train", "test")
    parts(root, "plane", "demo", "two_shot", "test")
    parts(root, "sygns", "published", "systematicity", "train", "val", "test")
    parts(root, "sygns", "demo", "systematicity", "train", "val", "test")
    curve = {"scheme": "systematicity", "part": "train", "primitive": "one", "edition": "demo"}
    write(root, "sygns_splits", [{**curve, "sentence_id": str(number)} for number in range(188)])
    return root


@pytest.mark.parametrize(
    ("edition", "command", "completed"),
    [
        (None, f"{FINETUNE}/adept.yaml lake=LAKE", f"{FINETUNE}/adept.yaml lake=LAKE"),
        (
            "demo",
            f"{FINETUNE}/adept.yaml lake=LAKE task.classes=4",
            f"{FINETUNE}/adept.yaml lake=LAKE task.classes=4 task.edition=demo",
        ),
        (None, f"{FINETUNE}/asp.yaml lake=LAKE", f"{FINETUNE}/asp_published.yaml lake=LAKE"),
        (
            "demo",
            f"{FINETUNE}/asp.yaml lake=LAKE",
            f"{FINETUNE}/asp.yaml lake=LAKE task.edition=demo",
        ),
        # SyGNS's release is a sample, too small for training.
        (
            None,
            f"{FINETUNE}/sygns.yaml lake=LAKE",
            f"{FINETUNE}/sygns.yaml lake=LAKE task.edition=demo",
        ),
        (
            "published",
            f"{FINETUNE}/sygns.yaml lake=LAKE",
            f"python etl/build_sygns.py preset=paper lake=LAKE && {FINETUNE}/sygns.yaml lake=LAKE",
        ),
        # The demo edition has fewer training rows than the sizes of the curve.
        (
            "demo",
            f"{FINETUNE}/sygns_curve.yaml lake=LAKE",
            f"{FINETUNE}/sygns_curve.yaml lake=LAKE task.edition=demo "
            "train_size=31,62,94,125,156,188",
        ),
        (
            "demo",
            f"{SCORE} && {PROMPT}",
            f"{SCORE} task.asp.edition=demo task.asp_full_stops.edition=demo && "
            f"{PROMPT} edition=demo",
        ),
        # PLANE's page shows runs on every edition.
        ("demo", f"{FINETUNE}/plane.yaml lake=LAKE", f"{FINETUNE}/plane.yaml lake=LAKE"),
        (
            None,
            f"{FINETUNE}/plane_one_it.yaml lake=LAKE",
            "python etl/import_published.py plane=DIR lake=LAKE && "
            f"{FINETUNE}/plane_one_it.yaml lake=LAKE",
        ),
        (
            None,
            f"{FINETUNE}/plane.yaml task.edition=clean task.scheme=strict lake=LAKE",
            "python etl/build_plane.py preset=clean lake=LAKE && "
            f"{FINETUNE}/plane.yaml task.edition=clean task.scheme=strict lake=LAKE",
        ),
    ],
)
def test_commands_name_the_edition_of_the_report(lake, edition, command, completed):
    commands = Commands(open_lake(lake, edition))
    assert commands.of_lake(command) == completed.replace("LAKE", lake)


@pytest.mark.parametrize(
    ("edition", "command", "is_elsewhere"),
    [
        (None, f"{FINETUNE}/adept.yaml lake=LAKE", False),
        ("demo", f"{FINETUNE}/adept.yaml lake=LAKE", False),
        ("published", PROMPT, True),  # the release has no items with examples
        ("demo", f"{FINETUNE}/plane.yaml lake=LAKE", True),
        ("published", f"{FINETUNE}/sygns.yaml lake=LAKE", True),
        # More files of the release may have the rows.
        ("published", f"{FINETUNE}/plane_one_it.yaml lake=LAKE", False),
        ("demo", "python -m analysis.report lake=LAKE", False),
        ("demo", f"{FINETUNE}/plane.yaml task.edition=clean lake=LAKE", False),
    ],
)
def test_results_that_the_edition_shown_cannot_have(lake, edition, command, is_elsewhere):
    commands = Commands(open_lake(lake, edition))
    rows = [{"command": command}, {"command": None}]
    missing = Missing("a table", command, "no run")
    section = commands.completed(Section("a", "t", "", rows, (), [missing]))
    (completed,) = section.findings
    assert isinstance(completed, Missing) and completed.command == commands.of_lake(command)
    assert [row["command"] for row in section.rows] == [completed.command, None]
    remark = (
        f" Edition {edition} lacks the rows for it; without edition= the report shows the results."
    )
    assert completed.reason == ("no run." + remark if is_elsewhere else "no run")


def test_commands_without_a_settings_file_get_only_the_lake(lake):
    command = "python etl/build_asp.py preset=clean lake=LAKE"
    assert Commands(open_lake(lake)).of_lake(command) == command.replace("LAKE", lake)


def test_the_name_of_the_lake_is_quoted(tmp_path):
    lake = str(tmp_path / "my lake")
    write(lake, "adept", [{"item_id": "a", "edition": "published"}])
    assert Commands(open_lake(lake)).of_lake("report lake=LAKE") == f"report lake='{lake}'"


def test_commands_begin_by_building_missing_tables(tmp_path):
    lake = str(tmp_path)
    write(lake, "amod_pairs", [{"corpus": "c", "adjective": "red", "noun": "cup", "count": 3}])
    completed = Commands(open_lake(lake)).of_lake(f"{FINETUNE}/asp.yaml lake=LAKE")
    assert completed.split(" && ")[0] == f"python etl/build_asp.py preset=clean lake={lake}"
    # Both tasks of the file need the release, which is imported once.
    completed = Commands(open_lake(lake)).of_lake(f"{SCORE} && {SCORE}")
    release = f"python etl/import_published.py asp=DIR lake={lake}"
    assert completed.split(" && ") == [release, SCORE.replace("LAKE", lake)]
