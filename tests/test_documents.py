"""The links of the documents lead to existing targets, and jobs accept their commands."""

import ast
import importlib
import re
import shlex
from pathlib import Path

import pytest

from adnominal import conf
from adnominal.conf import ROOT, UserError
from adnominal.conf.commandline.__main__ import find
from adnominal.conf.commandline.commands import settings_of
from adnominal.etl.annotation import degrees
from adnominal.etl.annotation import job as annotation
from adnominal.etl.looking import commands as lake_commands

# The verbs of a job, by its module.
VERBS_OF = {"etl.annotate_adept": annotation.VERBS, "etl.annotate_asp": degrees.VERBS}
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
IDS = [page.relative_to(ROOT).as_posix() for page in PAGES]
# A job, as a file or a module, after any launcher.
JOB = re.compile(
    r'(?:^|\s)(?:"\$ADNOMINAL"/)?'
    r"((?:etl|training|analysis)/\w+\.py|-m\s+(?:etl|analysis)[.\w]*)(?:\s|$)|^(adnominal)\s"
)


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    slugs = set()
    for heading in re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower())
        slugs.add(slug.replace(" ", "-"))
    return slugs


def broken_links(page: Path) -> list[str]:
    """The links of a page without a target; links to the web are not followed."""
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
    """The commands in the bash blocks of a page, with continued lines joined."""
    job_lines = []
    for block in re.findall(r"```bash\n(.*?)```", text, re.DOTALL):
        lines = block.replace("\\\n", " ").splitlines()
        job_lines += [line.strip() for line in lines if JOB.search(line.split(" # ")[0])]
    return job_lines


def check(command: str) -> None:
    """Load the settings in a command.

    Raises:
        UserError: the job does not exist or refuses the settings.
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
        return  # a user's file
    if "--help" in words:
        words = []
    if module == "etl.lake":
        lake_commands._parse(words)
        return
    if module in VERBS_OF:
        settings, _ = VERBS_OF[module][words[0]]
        conf.load(settings, words[1:])
        return
    try:
        job = importlib.import_module(f"adnominal.{module}")
        if hasattr(job, "__path__"):
            job = importlib.import_module(f"adnominal.{module}.__main__")
    except ModuleNotFoundError as error:
        raise UserError(f"no job {name}: {error}") from error
    if words:
        conf.load(job.Settings, words)


def check_short(words):
    """`check` for a command that begins with ``adnominal``."""
    if words[0] in ("--help", "--version", "completion"):
        return
    command, rest = find(words)
    verbs = settings_of(command)
    verb = "" if "" in verbs else rest.pop(0)
    if verb not in verbs:
        raise UserError(f"{command.name} has no {verb!r}")
    if command.name == "lake":
        lake_commands._parse([verb, *rest])
    elif command.name == "report query":
        question, *settings = rest
        assert question.startswith("SELECT ")
        conf.load(verbs[verb], settings)
    elif "--help" not in rest:
        conf.load(verbs[verb], rest)


def python_blocks(text: str) -> list[str]:
    """The Python blocks of a page; test_python.py runs those of an interactive session."""
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return [block for block in blocks if not block.startswith(">>> ")]


def imported_object(module_name: str, name: str) -> object:
    """What an import binds, or None if there is nothing of that name."""
    module = importlib.import_module(module_name)
    if hasattr(module, name):
        return getattr(module, name)
    try:
        return importlib.import_module(f"{module_name}.{name}")
    except ModuleNotFoundError:
        return None


def missing_names(code: str) -> list[str]:
    """Names that the code imports or takes from modules of the package, and that do not exist."""
    nodes = list(ast.walk(ast.parse(code)))
    objects: dict[str, object] = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("adnominal"):
            for alias in node.names:
                objects[alias.name] = imported_object(str(node.module), alias.name)
    missing = [name for name, value in objects.items() if value is None]
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = objects.get(node.value.id)
            if owner is not None and not hasattr(owner, node.attr):
                missing.append(f"{node.value.id}.{node.attr}")
    return missing


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_have_targets(page):
    assert broken_links(page) == []


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Work in a folder with the files and folders that commands of the pages expect."""
    (tmp_path / "conf").symlink_to(ROOT / "conf")
    (tmp_path / "exports").mkdir()
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_jobs_accept_the_commands_of_the_page(page, checkout):
    # test_contributing.py runs the commands about the example dataset.
    text, _, example = page.read_text(encoding="utf-8").partition("\n## Add a dataset\n")
    refused = []
    for command in commands(text + example.partition("\n## ")[2]):
        try:
            check(command)
        except UserError as error:
            refused.append(f"{command}: {error}")
    assert refused == []


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_python_of_the_page_names_what_exists(page):
    blocks = python_blocks(page.read_text(encoding="utf-8"))
    assert [name for block in blocks for name in missing_names(block)] == []


def test_the_check_finds_names_that_do_not_exist():
    code = "from adnominal.analysis import slices, slizes\nslices.words(1)\nslices.wurds(2)\n"
    assert missing_names(code) == ["slizes", "slices.wurds"]
    assert python_blocks("```python\n>>> a\n```\n```python\nb\n```\n") == ["b\n"]


def test_commands_of_every_kind_are_found_in_the_readme():
    text = "\n".join(commands((ROOT / "README.md").read_text(encoding="utf-8")))
    jobs = {job for job, _ in JOB.findall(text)}
    assert "adnominal" in {name for _, name in JOB.findall(text)}
    assert {"etl/build_plane.py", "etl/annotate_adept.py", "training/finetune.py"} <= jobs
    assert {"-m etl.lake", "-m analysis.export"} <= jobs


def test_the_check_finds_broken_links(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A page: one\n[a](#a-page-one) [b](gone.md) [c](#gone) [d](https://x.org)\n")
    assert broken_links(page) == ["gone.md", "#gone"]


@pytest.mark.parametrize(
    ("command", "message"),
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
def test_the_check_finds_commands_that_a_job_refuses(command, message, checkout):
    with pytest.raises(UserError, match=message):
        check(command)


def test_the_tour_names_existing_symbols():
    rows = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8").splitlines()[4:]
    assert len(rows) >= 10
    for row in rows:
        _, question, place, _ = re.split(r"\s*(?<!\\)\|\s*", row)
        assert question.endswith("?")
        match = re.match(r"\[[^]]+\]\(\.\./([^)#]+\.py)\), `(\w+)`", place)
        if match:
            file, symbol = match.groups()
            text = (ROOT / file).read_text(encoding="utf-8")
            assert re.search(rf"^(def|class) {symbol}\b|^{symbol}\b", text, re.MULTILINE), row
