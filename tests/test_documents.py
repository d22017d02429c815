"""What the documents name is there: links lead somewhere, jobs take the commands."""

from __future__ import annotations

import importlib
import re
import shlex
from pathlib import Path

import pytest

import conf
from conf import ROOT, UserError
from conf.commandline.__main__ import find
from conf.commandline.commands import settings_of
from etl.annotation.job import VERBS
from etl.lake import __main__ as lake_commands

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
IDS = [page.relative_to(ROOT).as_posix() for page in PAGES]
# A job, as a file or a module, behind any of its launchers.
JOB = re.compile(
    r"(?:^|\s)((?:etl|training|analysis)/\w+\.py|-m\s+(?:etl|analysis)[.\w]*)(?:\s|$)|^(adnominal)\s"
)


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    slugs = set()
    for heading in re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower())
        slugs.add(slug.replace(" ", "-"))
    return slugs


def broken_links(page: Path) -> list[str]:
    """The links of a page that lead nowhere; those to the web are not followed."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        if re.match(r"\w+:", link):
            continue
        target = page.parent / path if path else page
        missing = not target.exists() or (
            anchor and target.suffix == ".md" and anchor not in anchors(target)
        )
        if missing:
            broken.append(link)
    return broken


def commands(text: str) -> list[str]:
    """The commands of a page's bash blocks, continued lines joined."""
    lines_of_jobs = []
    for block in re.findall(r"```bash\n(.*?)```", text, re.DOTALL):
        lines = block.replace("\\\n", " ").splitlines()
        lines_of_jobs += [line.strip() for line in lines if JOB.search(line.split(" # ")[0])]
    return lines_of_jobs


def check(command: str) -> None:
    """Load the settings that a command gives its job.

    Raises:
        UserError: a job that there is not, or what the job itself refuses.
    """
    match = JOB.search(command)
    assert match
    if match[2]:
        check_short(shlex.split(command, comments=True)[1:])
        return
    name = match[1].removeprefix("-m").strip()
    module = name.removesuffix(".py").replace("/", ".")
    words = shlex.split(command[match.end(1) :], comments=True)
    if any(word.endswith(".yaml") and not (ROOT / word).exists() for word in words):
        if any(word.startswith("conf/") and not (ROOT / word).exists() for word in words):
            raise UserError(f"no such file in: {command}")
        return  # a file of the user's own
    if "--help" in words:
        words = []
    if module == "etl.lake":
        lake_commands._parse(words)
        return
    if module == "etl.annotate_adept":
        settings, _ = VERBS[words[0]]
        conf.load(settings, words[1:])
        return
    try:
        job = importlib.import_module(module)
        if hasattr(job, "__path__"):
            job = importlib.import_module(f"{module}.__main__")
    except ModuleNotFoundError as error:
        raise UserError(f"no job {name}: {error}") from error
    if words:
        conf.load(job.Settings, words)


def check_short(words):
    """`check` for a command of the one command line."""
    if words[0] in ("--help", "--version", "completion"):
        return
    command, rest = find(words)
    verbs = settings_of(command)
    verb = "" if "" in verbs else rest.pop(0)
    if verb not in verbs:
        raise UserError(f"{command.name} has no {verb!r}")
    if command.name == "lake":
        lake_commands._parse([verb, *rest])
    elif "--help" not in rest:
        conf.load(verbs[verb], rest)


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_somewhere(page):
    assert broken_links(page) == []


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder to stand in as in a checkout, with what the pages make before (mkdir)."""
    (tmp_path / "conf").symlink_to(ROOT / "conf")
    (tmp_path / "exports").mkdir()
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_jobs_take_the_commands_of_the_page(page, checkout):
    # The commands about an example dataset are run, with its files, by test_contributing.py.
    text, _, example = page.read_text(encoding="utf-8").partition("\n## Add a dataset\n")
    refused = []
    for command in commands(text + example.partition("\n## ")[2]):
        try:
            check(command)
        except UserError as error:
            refused.append(f"{command}: {error}")
    assert refused == []


def test_the_readme_has_commands_of_every_kind():
    text = "\n".join(commands((ROOT / "README.md").read_text(encoding="utf-8")))
    jobs = {job for job, _ in JOB.findall(text)}
    assert "adnominal" in {name for _, name in JOB.findall(text)}
    assert {"etl/build_plane.py", "etl/annotate_adept.py", "training/finetune.py"} <= jobs
    assert {"-m etl.lake", "-m analysis.export"} <= jobs


def test_broken_links_are_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A page: one\n[a](#a-page-one) [b](gone.md) [c](#gone) [d](https://x.org)\n")
    assert broken_links(page) == ["gone.md", "#gone"]


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("spark-submit etl/build_plane.py prest=clean", "unknown setting 'prest'"),
        ("python etl/build_planes.py preset=clean", "no job etl/build_planes.py"),
        ("python -m etl.lake shwo amod_pairs", "shwo"),
        ("adnominal explor lake=lake", "did you mean 'explore'"),
        ("adnominal build asp prest=clean", "unknown setting 'prest'"),
        ("deepspeed training/finetune.py conf/training/gone.yaml", "no such file"),
        ("python etl/annotate_adept.py export rounds=main", "unknown setting 'rounds'"),
    ],
)
def test_commands_that_a_job_refuses_are_seen(command, says, checkout):
    with pytest.raises(UserError, match=says):
        check(command)


def test_the_tour_names_what_is_there():
    rows = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8").splitlines()[4:]
    assert len(rows) >= 10
    for row in rows:
        _, question, place, _ = re.split(r"\s*(?<!\\)\|\s*", row)
        assert question.endswith("?")
        named = re.match(r"\[[^]]+\]\(\.\./([^)#]+\.py)\), `(\w+)`", place)
        if named:
            file, symbol = named.groups()
            text = (ROOT / file).read_text(encoding="utf-8")
            assert re.search(rf"^(def|class) {symbol}\b|^{symbol}\b", text, re.MULTILINE), row
