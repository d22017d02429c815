import csv
import io
import subprocess
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest

from adnominal.etl.adept import LABELS
from adnominal.etl.adept.annotation_task import ADEPT
from adnominal.etl.annotation.batches import ShownItem, compose
from adnominal.etl.annotation.forms import (
    Notes,
    batch_files,
    form_text,
    mark_added_words,
    preview_html,
)
from adnominal.etl.annotation.settings import ExportSettings
from tests import browser

ITEMS = [
    ShownItem("one", "A key opens doors.", "A false key opens doors."),
    ShownItem("two", "R&D <b>pays</b>.", "Dead R&D <b>pays</b>."),
    ShownItem("three", "A cat has {{form}}, ${page}.", "An old cat has {{form}}, ${page}."),
]
QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
)


def questions(platform="mturk", round="main", items=ITEMS, **options):
    settings = {"format": platform, "round": round, "gold": 0.0, "attention": 1.0} | options
    return compose(ADEPT, ExportSettings(batch="b.csv", **settings), items)


class Page(HTMLParser):
    """The radio buttons and texts of a page."""

    def __init__(self, text):
        super().__init__()
        self.radios: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append(tag)
        if attributes.get("type") == "radio":
            assert "required" in attributes
            self.radios.append((attributes["name"], attributes["value"]))

    def handle_data(self, data):
        if data.strip():
            self.texts.append(data.strip())


RADIOS = [(f"label_{at}", str(code)) for at in range(1, 5) for code in range(5)]


def test_the_preview_shows_the_first_page():
    page = Page(preview_html(ADEPT, questions()))
    assert page.radios == RADIOS
    assert page.texts.count("necessarily true") == 4
    # Values are shown as text, not read as markup or as our variables.
    assert "R&D <b>pays</b>." in page.texts
    assert {"An", "old", "cat has {{form}}, ${page}."} <= set(page.texts)
    assert "Impossible" in page.texts and "script" not in page.tags


def test_the_layout_has_the_variables_of_the_csv(tmp_path):
    files = batch_files(ADEPT, tmp_path / "b.csv", questions())
    assert {path.name for path in files} == {"b.csv", "b.html", "b.preview.html"}
    layout = files[tmp_path / "b.html"]
    rows = list(csv.DictReader(io.StringIO(files[tmp_path / "b.csv"])))
    sentence_columns = [key for key in rows[0] if key.startswith("sentence")]
    assert len(rows) == 1 and len(sentence_columns) == 8
    assert all(f"${{{key}}}" in layout for key in sentence_columns)
    assert Page(layout).radios == RADIOS and "crowd-form" in Page(layout).tags
    # The platform inserts values into the page without escaping them.
    assert "R&amp;D &lt;b&gt;pays&lt;/b&gt;." in rows[0].values()
    # The file reveals neither the labels that checks expect nor the ids of items.
    assert not {"kind", "expected", "item_id", "label"} & set(rows[0])


def test_label_studio_gets_tasks_and_a_configuration(tmp_path):
    files = batch_files(ADEPT, tmp_path / "b.csv", questions("label_studio", items=ITEMS * 2))
    tasks = list(csv.DictReader(io.StringIO(files[tmp_path / "b.csv"])))
    assert [task["page"] for task in tasks] == ["b-00001", "b-00002"]
    assert "R&amp;D &lt;b&gt;pays&lt;/b&gt;." in tasks[0].values()
    assert "<mark>Dead</mark> R&amp;D &lt;b&gt;pays&lt;/b&gt;." in tasks[0].values()
    view = ET.fromstring(files[tmp_path / "b.xml"])
    names = {node.get("name") for node in view.iter() if node.get("name")}
    for choices in view.iter("Choices"):
        assert choices.get("toName") in names and choices.get("required") == "true"
        assert [c.get("value") for c in choices] == list(LABELS)
        assert [c.get("alias") for c in choices] == ["0", "1", "2", "3", "4"]
    shown = [*view.iter("Text"), *view.iter("HyperText")]
    values = {node.get("value", "") for node in shown} - {""}
    assert {value[1:] for value in values} <= set(tasks[0]) and len(values) == 8
    (instructions,) = (node for node in shown if node.get("name") == "instructions")
    text = " ".join("".join(instructions.itertext()).split())
    assert "An expired ticket admits a visitor." in text
    assert instructions.get("inline") == "true"
    assert next(node.get("value") for node in view.iter("Header")) == ADEPT.title


@pytest.mark.parametrize(
    ("original", "modified", "marked"),
    [
        ("A key opens doors.", "A false key opens doors.", "A <mark>false</mark> key opens doors."),
        ("A cat sleeps.", "An old cat sleeps.", "An <mark>old</mark> cat sleeps."),
        ("Keys open doors.", "False keys open doors.", "<mark>False</mark> keys open doors."),
        ("key", "false key", "<mark>false</mark> key"),
        ("The old dog", "The old old dog", "The old <mark>old</mark> dog"),
        ("A & B", "A <new> & B", "A <mark>&lt;new&gt;</mark> &amp; B"),
        # Nothing is marked where more than one place differs, or nothing was added.
        ("A 9 m wall is high.", "A 12 m wall is very high.", "A 12 m wall is very high."),
        ("This checks that it is read.", "Please choose “no” here.", "Please choose “no” here."),
        ("A dog", "A dog", "A dog"),
    ],
)
def test_the_added_word_is_marked(original, modified, marked):
    assert mark_added_words(original, modified) == marked


NOTES = Notes("I take part & agree.\n\nI get $2 <here>.", "Write to ann@example.org, ${page}.")


@pytest.mark.parametrize("platform", ["mturk", "label_studio"])
def test_consent_and_contact_stand_on_every_page(tmp_path, platform):
    batch = questions(platform)
    files = batch_files(ADEPT, tmp_path / "b.csv", batch, NOTES)
    preview = files[tmp_path / "b.preview.html"]
    texts = Page(preview).texts
    # No dollar sign before a letter or digit: Label Studio would take it for a variable.
    consent, contact = "I get $\u20602 <here>.", "Write to ann@example.org, $\u2060{page}."
    first, last = texts.index(consent), texts.index(contact)
    assert first < texts.index("Instructions") < texts.index("Submit") < last
    if platform == "mturk":
        layout = files[tmp_path / "b.html"]
        assert {consent, contact} <= set(Page(layout).texts)
        assert "${page}" not in layout
    else:
        view = ET.fromstring(files[tmp_path / "b.xml"])
        names = [node.get("name") or node.get("value") for node in view]
        assert names.index("consent") < names.index("original_1")
        assert names[-1] == "contact"
        paragraphs = [p.text for p in view.iter("p")]
        assert "I take part & agree." in paragraphs
        assert consent in paragraphs
    without = batch_files(ADEPT, tmp_path / "b.csv", batch)
    assert all("Contact" not in text for text in without.values())


def test_the_csv_has_columns_to_fill_in(tmp_path):
    files = batch_files(ADEPT, tmp_path / "b.csv", questions("csv"))
    assert {path.name for path in files} == {"b.csv", "b.preview.html"}
    (row,) = csv.DictReader(io.StringIO(files[tmp_path / "b.csv"]))
    assert {"A false key opens doors.", "Dead R&D <b>pays</b>."} <= set(row.values())
    empty = {name for name, text in row.items() if not text}
    assert empty == {"label_1", "label_2", "label_3", "label_4", "annotator", "seconds"}


@pytest.mark.parametrize("platform", ["mturk", "label_studio", "csv"])
def test_auditors_see_the_label_and_other_options(tmp_path, platform):
    items = [item._replace(expected=4) for item in ITEMS]
    audit_questions = questions(platform, "audit", items, attention=0.0)
    page = Page(preview_html(ADEPT, audit_questions))
    assert page.texts.count("not well formed") == 4
    assert page.texts.count("necessarily true") == 3
    assert Page(form_text(ADEPT, audit_questions, "html")).texts.count("${given_4}") == 1
    files = batch_files(ADEPT, tmp_path / "b.csv", audit_questions)
    assert files[tmp_path / "b.csv"].count("necessarily true") == 3
    if platform == "label_studio":
        view = ET.fromstring(files[tmp_path / "b.xml"])
        assert [c.get("value") for c in view.iter("Choice")] == list(ADEPT.findings) * 4


def rendered_page(folder, script, frame=""):
    """The first page of a batch in the browser, with the results of a script at its end.

    With the text of a `frame`, the page is shown in it, and the frame is returned.
    """
    for path, text in batch_files(ADEPT, folder / "b.csv", questions(), NOTES).items():
        path.write_text(text, encoding="utf-8")
    page = folder / "b.preview.html"
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    if frame:
        page = folder / "frame.html"
        page.write_text(frame, encoding="utf-8")
    words = [browser.find(), *QUIET.split(), f"--user-data-dir={folder}/profile"]
    process = subprocess.run(
        [*words, "--virtual-time-budget=3000", "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return process.stdout


def test_a_browser_renders_the_page(tmp_path):
    # A script chooses the first option of every question before the browser returns the page.
    script = (
        "for (const f of document.querySelectorAll('fieldset')) f.querySelector('input')"
        ".click(); const form = document.querySelector('form'); document.body.dataset.answers = "
        "[...new FormData(form)].join(' ') + ' ' + form.checkValidity() + ' ' + "
        "(document.querySelector('dl').offsetHeight > 50);"
    )
    rendered = rendered_page(tmp_path, script)
    assert 'data-answers="label_1,0 label_2,0 label_3,0 label_4,0 true true"' in rendered
    assert Page(rendered).radios == RADIOS


# Chromium's windows have at least 500 pixels, a frame may have fewer.
PHONE = """<body><script>
addEventListener('message', event => { document.body.dataset.phone = event.data; });
</script><iframe src="b.preview.html" style="width: 390px; height: 844px; border: 0"></iframe>
"""


def test_a_phone_shows_the_page_without_scrolling_sideways(tmp_path):
    script = (
        "const labels = [...document.querySelectorAll('.options label')]; "
        "const heights = labels.map(label => label.getBoundingClientRect().height); "
        "const places = labels.map(label => label.offsetTop); "
        "const mark = getComputedStyle(document.querySelector('mark')).backgroundColor; "
        "parent.postMessage([innerWidth, document.documentElement.scrollWidth <= innerWidth, "
        "Math.min(...heights) >= 44, places[0] < places[1], mark].join(' '), '*');"
    )
    rendered = rendered_page(tmp_path, script, PHONE)
    assert 'data-phone="390 true true true rgb(253, 234, 167)"' in rendered
