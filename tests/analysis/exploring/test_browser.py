"""The page in a real browser, served and from disk, and checked by axe-core."""

import re
import shlex
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

import pytest
import uvicorn

from adnominal.analysis.exploring import static
from adnominal.analysis.exploring.queries import Query
from adnominal.analysis.exploring.server import application
from adnominal.analysis.exploring.sketches import Sketches, tsv
from adnominal.conf.commandline.__main__ import main
from tests.browser import launch
from tests.lake_of_pairs import SCRIPT, write_pairs

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
WIDE, NARROW = {"width": 1100, "height": 900}, {"width": 400, "height": 800}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launch() as chromium:
        yield chromium


@contextmanager
def serving(sketches: Sketches) -> Iterator[str]:
    config = uvicorn.Config(application(sketches), port=0, log_level="warning")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def served(sketches: Sketches) -> Iterator[str]:
    """The address of a server with the explorer of the small lake."""
    with serving(sketches) as address:
        yield address


@pytest.fixture(scope="module")
def copied(sketches: Sketches, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a static copy on disk."""
    folder = tmp_path_factory.mktemp("static") / "copy"
    static.write(sketches, folder, 1)
    return (folder / "index.html").as_uri()


@pytest.fixture(params=["served", "copied"])
def address(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page; an error in its scripts fails the test."""
    new_page = browser.new_page(viewport=WIDE)
    new_page.set_default_timeout(10_000)
    errors: list[str] = []
    new_page.on("pageerror", lambda error: errors.append(str(error)))
    yield new_page
    new_page.close()
    assert errors == []


def words(page: Any) -> list[str]:
    """The first column of the table on the page."""
    page.wait_for_selector("#result table, #result .error")
    headings: list[str] = page.locator("#result tbody th").all_inner_texts()
    return headings


def test_a_search_with_filters_changes_result_address_and_title(page, address):
    page.goto(address)
    # The page listens to what is typed once it knows its corpora.
    page.wait_for_selector("select[name=corpus] option[value=news]", state="attached")
    page.get_by_label("Word", exact=True).press_sequentially("ke")
    page.wait_for_selector("datalist option[value=key]", state="attached")
    page.get_by_label("Word", exact=True).fill("key")
    page.locator("select[name=measure]").select_option("count")
    page.locator("select[name=corpus]").select_option("news")
    page.keyboard.press("Enter")
    page.get_by_label("Word", exact=True).press("Enter")
    assert words(page) == ["old", "false", "small"]
    assert "word=key" in page.url and "measure=count" in page.url
    assert page.title().startswith("Adjectives of “key”")
    page.get_by_label("intensional").check()
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**classes=O*")
    sync_api.expect(page.locator("#result tbody tr")).to_have_count(1)
    page.go_back()
    sync_api.expect(page.locator("#result tbody tr")).to_have_count(3)


def test_an_address_shows_the_nouns_of_an_adjective(page, address):
    page.goto(f"{address}#role=adjective&word=false&measure=count")
    assert words(page) == ["key", "name"]
    caption = page.locator("#result caption")
    sync_api.expect(caption).to_have_text("2 of 2 nouns by count")
    heads = page.locator("#result thead th").all_inner_texts()
    assert "count in news" in heads and "count in web" in heads
    page.get_by_role("button", name="count in web").click()
    page.wait_for_url("**sort_corpus=web*")
    sync_api.expect(caption).to_have_text("2 of 2 nouns by count in web")
    page.go_back()
    page.goto(f"{address}#role=adjective&word=false&measure=count&corpus=news")
    sync_api.expect(caption).to_have_text("2 of 2 nouns by count")
    page.go_back()
    sync_api.expect(page.locator("#result thead th")).to_contain_text(["count in news"])
    assert page.locator("#result svg circle").count() == 2


def test_words_and_corpora_are_compared(page, address):
    page.goto(f"{address}#word=key&other=door&corpus=news&measure=count")
    assert words(page) == ["false", "small", "old", "wooden"]
    headings = page.locator("#result .block h3").all_inner_texts()
    assert headings == ["Only “key”", "Both", "Only “door”"]
    page.goto(f"{address}#word=key&corpus=news&other_corpus=web&measure=count")
    sync_api.expect(page).to_have_title(re.compile(r"\(web\)"))
    assert words(page) == ["old", "small", "false", "public"]
    page.goto(f"{address}#word=key&corpus=news&other_corpus=web&measure=count&floor=3")
    sync_api.expect(page.locator("#result tbody tr")).to_have_count(3)
    assert words(page) == ["old", "false", "public"]
    counts = page.locator("#result tbody tr").nth(1).inner_text()
    assert "4" in counts and "1" in counts, counts


def test_the_chart_of_a_difference_has_the_largest_of_each_side(page, tmp_path):
    pairs = [(f"a{number:02}", "left", 60 - number) for number in range(40)]
    pairs += [(f"a{number:02}", "right", 1) for number in range(40)]
    pairs += [("wooden", "left", 2), ("wooden", "right", 100), ("oaken", "lone", 2)]
    write_pairs(str(tmp_path / "lake"), {"news": pairs})
    with serving(Sketches(str(tmp_path / "lake"), tmp_path / "cache")) as address:
        page.goto(f"{address}#word=left&other=right&measure=count")
        assert len(words(page)) == 41
        names = page.locator("#result svg text[text-anchor=end]").all_text_contents()
        page.goto(f"{address}#word=lone")
        sync_api.expect(page).to_have_title(re.compile("^Adjectives of “lone”"))
        assert "14.00" in page.locator("#result tbody tr").inner_text()  # logDice, not a count
    assert names == [*(f"a{number:02}" for number in range(20)), "wooden"]


def test_the_command_of_a_static_copy_has_its_minimum_count(page, sketches, tmp_path):
    static.write(sketches, tmp_path / "copy", 4)
    page.goto(f"{(tmp_path / 'copy' / 'index.html').as_uri()}#word=key")
    assert sorted(words(page)) == ["false", "old", "public"]
    assert "floor=4" in shlex.split(page.locator("#result code").inner_text())


def test_a_pair_is_shown_with_sentences_items_and_predictions(page, address):
    page.goto(f"{address}#word=key&measure=count")
    page.get_by_role("link", name="false").first.click()
    page.wait_for_selector("blockquote")
    assert page.locator("blockquote").first.inner_text().startswith(SCRIPT)
    assert page.locator("blockquote script, blockquote b").count() == 0
    assert page.title() == "false key – Word sketches"
    text = page.locator("#result").inner_text()
    assert "PLANE (demo)" in text and "ADEPT (demo)" in text and "tiny: 1" in text


def test_an_unknown_word_links_to_similar_words(page, address):
    page.goto(f"{address}#word=dor")
    page.wait_for_selector("#result .error")
    page.get_by_role("link", name="door").click()
    page.wait_for_selector("#result table")
    assert "wooden" in words(page)


def test_a_word_in_capitals(page, address):
    page.goto(f"{address}#word=KEY&other=Door&corpus=news&measure=count")
    assert words(page) == ["false", "small", "old", "wooden"]
    page.get_by_role("link", name="wooden").click()
    sync_api.expect(page).to_have_title(re.compile("^wooden door"))
    page.goto(f"{address}#role=adjective&word=NAI\u0308VE")
    # The pair's table stays until the new one is there.
    sync_api.expect(page).to_have_title(re.compile("na\u00efve"))
    assert words(page) == ["question"]
    page.goto(f"{address}#word=DOR")
    page.get_by_role("link", name="door").click()
    page.wait_for_selector("#result table")


def test_an_unknown_word_of_a_difference_is_replaced(page, address):
    page.goto(f"{address}#word=key&other=dor&corpus=news&measure=count")
    page.wait_for_selector("#result .error")
    page.get_by_role("link", name="door").click()
    page.wait_for_selector("#result table")
    assert words(page) == ["false", "small", "old", "wooden"]


def test_rows_and_figures_can_be_downloaded(page, address, sketches, tmp_path):
    page.goto(f"{address}#word=key&measure=count")
    words(page)
    for name, begin in (("TSV", b"corpus\t"), ("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as download:
            page.get_by_text(name).click()
        assert download.value.suggested_filename == f"noun-key.{name.lower()}"
        target = tmp_path / name
        download.value.save_as(target)
        assert target.read_bytes().startswith(begin)
    rows = sketches.view(Query("noun", "key", measure="count"))["rows"]
    assert (tmp_path / "TSV").read_text() == tsv(rows)


@pytest.mark.parametrize(
    "query",
    [
        Query("noun", "key", other="door"),
        Query("noun", "key", other="door", measure="count", floor=3),
        Query("noun", "key", corpus="news", other_corpus="web", measure="count"),
        Query("noun", "key", sort_corpus="web"),
        Query("adjective", "false"),
    ],
)
def test_a_static_copy_computes_the_rows_of_the_server(page, copied, sketches, tmp_path, query):
    values = {name: value for name, value in asdict(query).items() if value}
    page.goto(f"{copied}#{urlencode(values)}")
    words(page)
    with page.expect_download() as download:
        page.get_by_text("Rows as TSV").click()
    download.value.save_as(tmp_path / "rows.tsv")
    assert (tmp_path / "rows.tsv").read_text() == tsv(sketches.view(query)["rows"])


def test_the_command_on_the_page_prints_the_downloaded_rows(page, served, tmp_path, capsys):
    page.goto(f"{served}#word=key&other=door&measure=pmi&floor=2")
    words(page)
    with page.expect_download() as download:
        page.get_by_text("TSV").click()
    download.value.save_as(tmp_path / "rows.tsv")
    command = shlex.split(page.locator("#result code").inner_text())
    assert main([*command[1:], f"cache={tmp_path}"]) == 0
    assert capsys.readouterr().out == (tmp_path / "rows.tsv").read_text()


@pytest.fixture(scope="module")
def unusual(tmp_path_factory: pytest.TempPathFactory) -> Sketches:
    """Sketches of a lake with words that need quoting in a shell, and a noun of rare pairs."""
    folder = tmp_path_factory.mktemp("unusual")
    pairs = [("old", "o'clock", 3), ("x'$(touch pwned)'y", "key", 2)]
    pairs += [("__proto__", "key", 5), ("old", "letter" * 60, 3)]
    pairs += [("big", "thing", 60_000), ("new", "stuff", 240_000)]
    pairs += [("big", "zebra", 1), ("new", "zebra", 1)]
    write_pairs(str(folder / "my lake"), {"news": pairs})
    return Sketches(str(folder / "my lake"), folder / "cache")


@pytest.fixture(scope="module")
def unusual_served(unusual: Sketches) -> Iterator[str]:
    with serving(unusual) as address:
        yield address


def test_bars_of_negative_values_are_empty(page, unusual_served):
    page.goto(f"{unusual_served}#word=zebra")
    assert words(page) == ["big", "new"]
    widths = page.locator("#result td.bar span").evaluate_all("all => all.map(b => b.style.width)")
    assert widths == ["1%", "1%"]
    page.goto(f"{unusual_served}#word=zebra&measure=count")
    sync_api.expect(page.locator("#result caption")).to_contain_text("by count")
    widths = page.locator("#result td.bar span").evaluate_all("all => all.map(b => b.style.width)")
    assert widths == ["100%", "100%"]


def test_the_start_page_links_to_a_word_of_the_lake(page, served, browser, tmp_path):
    page.goto(served)
    sync_api.expect(page.locator("#result")).to_have_text(
        "Type a word, or open the adjectives of “key”."
    )
    write_pairs(str(tmp_path / "lake"), {"news": [("old", "door", 3)]})
    with serving(Sketches(str(tmp_path / "lake"), tmp_path / "cache")) as address:
        page.goto(address)
        sync_api.expect(page.locator("#result")).to_have_text("Type a word.")


def test_the_word_proto_and_long_words(page, unusual, tmp_path):
    static.write(unusual, tmp_path / "copy", 1)
    address = (tmp_path / "copy" / "index.html").as_uri()
    page.goto(f"{address}#role=adjective&word=__proto__")
    assert words(page) == ["key"]
    page.set_viewport_size(NARROW)
    page.goto(f"{address}#word={'letter' * 60}")
    sync_api.expect(page.locator("#result h2")).to_contain_text("letter")
    assert words(page) == ["old"]
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


def test_late_suggestions_do_not_replace_newer_ones(page, served):
    page.goto(served)
    page.wait_for_selector("#result[aria-busy=false] > *")
    page.evaluate("""() => {
      const suggest = source.suggest.bind(source);
      source.suggest = async (role, word) => {
        if (word === "k") await new Promise((resolve) => setTimeout(resolve, 800));
        if (word === "q") throw new TypeError("Failed to fetch");
        return suggest(role, word);
      };
    }""")
    field = page.get_by_label("Word", exact=True)
    field.fill("k")
    page.wait_for_timeout(200)
    field.fill("do")
    page.wait_for_selector("datalist option[value=door]", state="attached")
    page.wait_for_timeout(1000)
    options = page.locator("datalist option")
    assert options.evaluate_all("all => all.map(one => one.value)") == ["door"]
    page.get_by_label("an adjective's nouns").check()
    sync_api.expect(options).to_have_count(0)
    field.fill("q")  # the server has ended: no fault of the page's scripts
    page.wait_for_timeout(200)


def test_order_filters_and_corpus_apply_at_once(page, address):
    page.goto(f"{address}#word=key&measure=count")
    assert words(page) == ["old", "public", "false", "small"]
    page.locator("select[name=corpus]").select_option("news")
    sync_api.expect(page.locator("#result tbody tr")).to_have_count(3)
    page.get_by_label("Minimum count").fill("4")
    page.keyboard.press("Tab")
    sync_api.expect(page.locator("#result tbody tr")).to_have_count(2)
    page.locator("select[name=measure]").focus()
    page.locator("select[name=measure]").select_option("pmi")
    page.wait_for_url("**measure=pmi*")
    sync_api.expect(page.locator("#result caption")).to_contain_text("by PMI")
    assert page.evaluate("document.activeElement.name") == "measure"


def test_heads_of_columns_sort_and_define_their_measure(page, address):
    page.goto(f"{address}#word=key&corpus=news")
    words(page)
    button = page.get_by_role("button", name="PMI", exact=True)
    definition = page.get_by_text("Pointwise mutual information in bits")
    sync_api.expect(definition).to_be_hidden()
    button.hover()
    sync_api.expect(definition).to_be_visible()
    page.mouse.move(0, 0)
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**measure=pmi*")
    head = page.locator("#result th[aria-sort=descending]")
    sync_api.expect(head).to_contain_text("PMI")
    sync_api.expect(head.locator("button")).to_be_focused()
    page.get_by_role("button", name="adjective", exact=True).click()
    assert words(page) == ["small", "old", "false"]
    page.get_by_role("button", name="adjective", exact=True).click()
    assert words(page) == ["false", "old", "small"]


@pytest.mark.parametrize(
    ("search", "hint", "title"),
    [
        ("word=wooden", "wooden is an adjective: show its nouns", "Nouns of “wooden”"),
        ("word=doors", "doors is a form of door", "Adjectives of “door”"),
        ("word=old+keys", "old key is an adjective and a noun: show the pair", "old key"),
        ("word=key&other=doors", "doors is a form of door", "“key” compared with “door”"),
    ],
)
def test_a_failed_search_opens_what_was_meant(page, address, search, hint, title):
    page.goto(f"{address}#{search}")
    page.get_by_role("link", name=hint).click()
    sync_api.expect(page.locator("#result h2")).to_have_text(title)
    page.wait_for_selector("#result table")


def test_words_with_similar_collocates_are_a_view(page, served):
    page.goto(f"{served}#word=key")
    page.get_by_role("link", name="Nouns with similar collocates").click()
    sync_api.expect(page.locator("#result h2")).to_have_text("Nouns similar to “key”")
    assert words(page) == ["name", "door"]
    page.locator("select[name=corpus]").select_option("web")
    sync_api.expect(page.locator("#result .error")).to_have_text("No noun shares a collocate.")
    page.go_back()
    page.locator("#result tbody tr").nth(1).get_by_role("link", name="old").click()
    sync_api.expect(page.locator("#result h2")).to_have_text("“key” compared with “door”")


def test_the_words_of_a_pair_are_marked_in_its_sentences(page, address):
    page.goto(f"{address}#adjective=false&noun=key")
    page.wait_for_selector("blockquote")
    assert page.locator("blockquote mark").all_inner_texts() == ["false", "key"] * 2
    text = page.locator("#result").inner_text()
    assert "2 of 2 stored sentences; the pair occurs 5 times." in text
    links = page.locator("blockquote a")
    assert links.all_inner_texts() == ["http://example.org/1"]
    page.get_by_label("Key words in context").check()
    lefts = page.locator("blockquote .middle").evaluate_all(
        "all => all.map((one) => Math.round(one.getBoundingClientRect().left))"
    )
    assert max(lefts) - min(lefts) <= 1


def test_numbers_are_written_in_one_style(page, served):
    page.goto(served)
    page.wait_for_selector("#result[aria-busy=false] > *")
    values = [["count", 1202], ["per_million", 1202.55], ["contrast", 3300], ["pmi", -0.4]]
    texts = page.evaluate("all => all.map(([name, value]) => number(value, name))", values)
    assert texts == ["1,202", "1,202.6", "3,300.0", "-0.40"]


def test_the_nearest_adjective_and_noun_are_marked(page, served):
    page.goto(served)
    page.wait_for_selector("#result[aria-busy=false] > *")
    sentence = "Keys: an OLD lock, old rusty keys, and a keyhole"
    found = page.evaluate(
        "text => pairPlaces(text, 'old', ['key', 'keys']).map((p) => [p.start, p.end])", sentence
    )
    assert [sentence[start:end] for start, end in found] == ["old", "keys"]
    assert found[0][0] == sentence.index("old rusty")


def test_the_default_minimum_count_is_shown(page, tmp_path):
    pairs = [(f"frequent{number}", "key", 3) for number in range(10)]
    pairs += [("rare", "key", 1), ("same", "key", 4), ("old", "key", 3), ("older", "key", 3)]
    write_pairs(str(tmp_path / "lake"), {"news": pairs})
    sketches = Sketches(str(tmp_path / "lake"), tmp_path / "cache")
    static.write(sketches, tmp_path / "copy", 1)
    with serving(sketches) as served_address:
        for address in (served_address, (tmp_path / "copy" / "index.html").as_uri()):
            page.goto(f"{address}#word=key&measure=count")
            assert len(words(page)) == 13
            sync_api.expect(page.get_by_text("Pairs with a count of 3 or more")).to_be_visible()
            assert page.locator("input[name=floor]").get_attribute("placeholder") == "3"
            page.get_by_role("link", name="show rarer ones").click()
            sync_api.expect(page.locator("#result tbody tr")).to_have_count(14)
            page.get_by_label("hide same, other, many").check()
            sync_api.expect(page.locator("#result tbody tr")).to_have_count(13)
        page.goto(f"{served_address}#word=key&measure=count&floor=1")
        page.get_by_label("count older, oldest as old").check()
        sync_api.expect(page.locator("#result tbody tr")).to_have_count(13)
        assert words(page)[0] == "old"


def test_the_form_stays_in_sight_without_a_frame_round_the_result(page, served):
    page.set_viewport_size({"width": 1100, "height": 700})
    page.goto(f"{served}#word=key")
    words(page)
    page.get_by_label("Word", exact=True).press("Enter")
    page.wait_for_selector("#result[aria-busy=false] > *")
    outline = page.evaluate("getComputedStyle(document.getElementById('result')).outlineStyle")
    assert outline == "none"
    page.mouse.wheel(0, 5000)
    page.wait_for_timeout(200)
    assert page.locator("form").bounding_box()["y"] >= 0


def test_chart_text_is_legible_and_comparison_fields_are_beside_each_other(browser, served):
    page = browser.new_page(viewport=NARROW)
    page.goto(f"{served}#word=key&other=door")
    page.wait_for_selector("#result table")
    tops = [
        page.locator(f"[name={name}]").bounding_box()["y"] for name in ("other", "other_corpus")
    ]
    assert tops[0] == tops[1]
    for view in ("#word=key", "#word=key&other=door&measure=count"):
        page.goto(served + view)
        page.wait_for_selector("#result svg")
        size = page.evaluate("""() => {
          const svg = document.querySelector("#result svg");
          return 12 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
        }""")
        assert size >= 11
    page.close()


def test_a_second_corpus_needs_a_first(page, address):
    page.goto(f"{address}#word=key&other=door")
    words(page)
    page.locator("select[name=other_corpus]").select_option("web")
    page.get_by_role("button", name="Show").click()
    assert page.evaluate("form.elements.corpus.validity.valueMissing")
    assert "other_corpus" not in page.url
    page.locator("select[name=corpus]").select_option("news")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**other_corpus=web*")


@pytest.mark.parametrize("pair", [("old", "o'clock"), ("x'$(touch pwned)'y", "key")])
def test_the_command_of_a_pair_is_quoted(page, unusual, unusual_served, pair):
    page.goto(f"{unusual_served}#{urlencode({'adjective': pair[0], 'noun': pair[1]})}")
    command = page.locator("#result code").inner_text()
    assert shlex.split(command) == ["adnominal", "lake", "why", *pair, f"lake={unusual.lake}"]


@pytest.mark.parametrize(
    "view",
    [
        "",
        "#word=key",
        "#word=key&other=door&corpus=news",
        "#adjective=false&noun=key",
        "#word=dor",
        "#word=key&similar=true",
    ],
)
def test_pages_are_accessible_and_fit_a_narrow_screen(browser, served, view):
    page = browser.new_page(viewport=NARROW)
    page.goto(served + view)
    page.wait_for_selector("#result[aria-busy=false] > *")
    # The policy of the page allows no other script, so the browser itself injects axe-core.
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    page.evaluate(axe)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
        report = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        assert [(scheme, one["id"], one["help"]) for one in report["violations"]] == []
    page.close()


def test_the_page_can_be_used_with_the_keyboard_alone(page, served):
    page.goto(f"{served}#word=key&corpus=news&measure=count")
    words(page)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the result"
    page.keyboard.press("Enter")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "old":
            break
    page.keyboard.press("Enter")
    sync_api.expect(page).to_have_title(re.compile("^old key"))
