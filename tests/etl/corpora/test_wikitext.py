"""Wikitext becomes running text."""

import bz2
import html
import re
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adnominal.etl.corpora.wikitext import running_text
from tests.etl.corpora.residual_markup import residual_markup


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        # templates
        ("The sea {{citation needed|date=May 2012}} is wide.", "The sea is wide."),
        ("The sea is wide {{sfn|Smith|2001}}.", "The sea is wide."),
        ("{{Infobox sea\n| name = {{nowrap|Old Sea}}\n| depth = {{{d|}}}\n}}\nA sea.", "A sea."),
        # A space after removed markup does not make a preformatted line.
        ("{{clear}} {{a}} A wise king ruled\nand had a castle.",
         "A wise king ruled and had a castle."),
        ("[[File:x.jpg|thumb|[[cap]]]] [[Image:y]] The house\nstood [[Category:z]] there.",
         "The house stood there."),
        ("The house is old.\n [[File:x.jpg]] as code\nIt stood.", "The house is old.\nIt stood."),
        ("{{a|{{b|{{c}}}}}}It {{d|{{{e|{{f}}}}}}} was here.", "It was here."),
        ("The rock is {{convert|10|km|mi}} away.", "The rock is 10 kilometres away."),
        ("It is {{convert|1|to|2.5|mi|km|abbr=on}} long.", "It is 1 to 2.5 miles long."),
        ("A {{convert|300|m|adj=on}} wide hole.", "A 300-metre wide hole."),
        ("He is {{convert|5|ft|11|in|cm}} tall.", "He is 5 feet 11 inches tall."),
        ("It was {{convert|-40|C}} and {{cvt|9|zork}}.", "It was -40 °C and 9 zork."),
        ("The word {{lang|fr|''mot juste''}} is known.", "The word mot juste is known."),
        ("The word {{lang-de|Wort}} and {{transl|ru|slovo}} too.", "The word Wort and slovo too."),
        ("{{Template:Nowrap|The sea}} is wide.", "The sea is wide."),
        ("{{nowrap|The {{lang|la|mare}} [[Sea|sea]]}} is wide.", "The mare sea is wide."),
        ("In {{circa|1500}}{{ndash}}1520 he {{nowrap|1=was}} there.",
         "In c. 1500–1520 he was there."),
        ("{{As of|2015|3}}, the {{frac|1|2}} is {{val|9.8|u=m/s}} fast.",
         "As of March 2015, the 1/2 is 9.8 m/s fast."),
        ("He said:\n{{quote|text=We are [[free]] men now.|author=X}}",
         "He said:\nWe are free men now."),
        ("The {{USS|Boat|CV-6}} has {{formatnum:12000}} men.", "The USS Boat has 12000 men."),
        ("In {{as of|2015|²}} it was 2{{e|-5}} and {{langx|fr|mot}} {{script/Arabic|kitab}} too.",
         "In As of ² 2015 it was 2 × 10⁻⁵ and mot kitab too."),
        ("A {{convert|%s|km}}x line and {{unknown|y}} is here." % ("1" * 50_000),
         "A %s kilometresx line and is here." % ("1" * 50_000)),
        # remains of removed templates
        ("'''Sea''' ({{IPAc-en|s|i}}; {{lang-fr|mer}}, {{IPA|x}}) is wide.", "Sea (mer) is wide."),
        ("'''Sea''' ({{IPAc-en|s|i}}; {{IPA|x}}) is wide.", "Sea is wide."),
        ("The sea (pronounced {{IPA|x}}, {{respell|x}}), it is wide.", "The sea, it is wide."),
        ("The sea ({{a}}1900{{a}} – 1950, {{b}}) is wide.", "The sea (1900 – 1950) is wide."),
        # functions of the parser
        ("The [[Old key{{!}}old key]] and {{nowrap|[[Red car{{!}}red]] car}} are here.",
         "The old key and red car are here."),
        ("The <ruby>old<rp>(</rp><rt>oʊ</rt></ruby> key is here.", "The old key is here."),
        ("The parish has {{formatnum:{{Count|of=12}}}} people. It is old.",
         "The parish has people. It is old."),
        ("The parish has {{formatnum:{{#expr:3*4}}}} men and {{formatnum: 1234 |R}} now.",
         "The parish has men and 1234 now."),
        ("The {{lc:OLD [[Sea|SEA]]}} and the {{UC:cafe}} and {{ucfirst: mill}} were there.",
         "The old sea and the CAFE and Mill were there."),
        ("It has {{#if: {{{1|}}} | red | white}} walls and {{#ifeq:a|a|big|small}} doors here.",
         "It has white walls and big doors here."),
        ("The {{formatnum:{{nowrap|12|a=b}}}} old men and {{plural:3|mill|mills}} stood there.",
         "The 12 old men and mills stood there."),
        ("{{DEFAULTSORT:Sea, Old}}The old {{#tag:ref|see {{x|y}}}} sea is wide.",
         "The old sea is wide."),
        ("The old sea {{#invoke:x|{{x|a|b}}|c}} is {{#time:Y|now}} wide.", "The old sea is wide."),
        ("The mill {{convert|10|km has a wheel. It turns now.", "The mill . It turns now."),
        # tables
        ('A wide sea.\n{| class="wikitable"\n|-\n! x !! y\n|-\n| a || {{b|{{c}}}}\n|}\nA deep sea.',
         "A wide sea.\nA deep sea."),
        ("One is here.\n:{|\n|\n{| \n| inner\n|}\n| outer\n|}\n\nTwo is here.",
         "One is here.\nTwo is here."),
        ("One is here.\n<table><tr><td>a<table></table></td></tr></table>", "One is here."),
        # elements
        ('The sea<ref name="a">{{cite|x}}</ref> is<ref name=b/> wide.<ref>[http://x y]</ref>',
         "The sea is wide."),
        ("A <!-- [[hidden]] --> note is.<!-- here", "A note is."),
        ("The <math>\\frac{{a}}{b}</math> of <math>x</math> is <code>for</code> all.",
         "The of x is for all."),
        ("<gallery>\nFile:A.jpg|One\n</gallery>\nThe sea is wide.", "The sea is wide."),
        ("A line<br />of <b>bold</b> H<sub>2</sub>O at 10<sup>3</sup> m<sup>−2</sup> it was.",
         "of bold H2O at 10³ m⁻² it was."),
        ("Use <nowiki>[[x]] and ''y''</nowiki> here to link.", "Use [[x]] and ''y'' here to link."),
        ("If 1 < 2 and 3 > 2 then it is so.", "If 1 < 2 and 3 > 2 then it is so."),
        ("Use <nowiki>5&nbsp;m &lt; [&amp;lt;]</nowiki> here to link.",
         "Use 5 m < [&lt;] here to link."),
        # links
        ("[[Sea]]s and [[Deep sea|deep seas]] are [[#wide|wide]].", "Seas and deep seas are wide."),
        ("[[File:A.jpg|thumb|A [[b|c]] of {{d}} [http://x y] and [sic] it.]]The sea is wide.",
         "The sea is wide."),
        ("[[Image:A.jpg|thumb|[[File:b.png]] in [[c]]]]\nThe sea is wide.", "The sea is wide."),
        ("The sea is wide.\n[[Category:Seas| ]]\n[[fr:Mer]]", "The sea is wide."),
        ("See [[:Category:Seas]] and [[wikt:sea|sea]] and [[Dune: Part Two|it]] there.",
         "See Seas and sea and it there."),
        ("In [[Dune: Part Two]] and [[3:10 to Yuma]] of [[Yuma (town)|]] it is.",
         "In Dune: Part Two and 3:10 to Yuma of Yuma (town) it is."),
        ("The [http://x.org/?a=b|c old site] and [//y.org] http://z.org/d were there.",
         "The old site and were there."),
        # quotes
        ("'''Bold''' and ''italic'' and '''''both''''' were there.",
         "Bold and italic and both were there."),
        ("The ''Eagle'''s old wings were wide.", "The Eagle's old wings were wide."),
        ("The '''Eagle'''s old wings were wide.", "The Eagles old wings were wide."),
        ("In l''''Avenir''' it was so then.", "In l'Avenir it was so then."),
        ("Both ''Heron''<nowiki/>'s hatch and ''Bittern''<nowiki />'s hatch were open.",
         "Both Heron's hatch and Bittern's hatch were open."),
        ("Both ''Heron''<nowiki></nowiki>'s and '''Bittern'''{{'s}} hatch and ''Tern''{{'}}s is.",
         "Both Heron's and Bittern's hatch and Tern's is."),
        ("Both L'''Avenir'' and old rigs.\n\nThe '''Heron''' of d'''Orsay'' is it.",
         "Both L'Avenir and old rigs.\nThe Heron of d'Orsay is it."),
        ("The '''''Titanic''''''s old captain is here.", "The Titanic's old captain is here."),
        # paragraphs, headings, lists
        ("== Old ==\nOne was\nhere.\n\n=== New === \nTwo was there.",
         "One was here.\nTwo was there."),
        ("* A list of names\n* He was the first man there.\n# [[Sea]]\n: It was \"so\" for them.\n",
         'He was the first man there.\nIt was "so" for them.'),
        ("; Sea : It is a wide body of water.\n;Error: It is the rest of it.",
         "It is a wide body of water.\nError: It is the rest of it."),
        ("== Further reading ==\n* He wrote the book of the sea.\nIt is read by many people.\n"
         "== Life ==\n* He was born in a town.",
         "It is read by many people.\nHe was born in a town."),
        ("* Smith, J. The wide sea is old. ISBN 1234.\nNotes\n\nA, B", ""),
        ("__NOTOC__\nThe sea is __wide__ here.\n----\n", "The sea is __wide__ here."),
        # characters
        ("The sea[1] is wide[citation needed] and old.[note 2]", "The sea is wide and old."),
        ("The sea is {{{1|wide}}}, {{{2}}} {{#if:{{{3|}}}|low|old}} and {{{4|{{lc:BIG}}}}}.",
         "The sea is wide, old and big."),
        ("A&nbsp;sea of 5&thinsp;m &ndash; wide\u200b &amp;lt; \u00adold \u202fone.",
         "A sea of 5 m – wide &lt; old one."),
        ("The cafe\u0301 is old and wide.", "The café is old and wide."),
        ("", ""),
    ],
)  # fmt: skip
def test_markup_becomes_running_text(wikitext, text):
    assert running_text(wikitext) == text


@pytest.mark.parametrize(
    "broken",
    [
        "{{cite web|url=x",
        "{{note|x} ",
        "[[Sea|the sea",
        "[[File:a.jpg|thumb|caption of it",
        "{| class=x\n| cell",
        "<ref name=x>",
        "<ref>note",
        "}} ]] |} ",
        "'''''x''",
        "<nowiki>",
        "<table>",
        "{{{{{a|b}} }}}",
        "{{a|[[b}}|c]]",
        "[[a|{{b]]}}",
        "{{a\n|}\n{| \n}}",
    ],
)
def test_broken_markup_affects_no_other_paragraph(broken):
    text = f"The first sentence is here.\n\n{broken}\n\n== Next ==\nThe last sentence is here."
    article = running_text(text)
    assert article.startswith("The first sentence is here.")
    assert article.endswith("The last sentence is here.")


MARKUP = [
    "{{", "}}", "{{{", "}}}", "{|", "\n{|", "\n|}", "\n|-", "|", "||", "[[", "]]", "[", "]",
    "[[File:", "[[a|", "[[:b:c|", "[http://x ", "http://", "'''", "''", "''''", "'''s ", "<ref>",
    "<ref ", "</ref>", "<ref/>", "<!--", "-->", "<math>", "</math>", "<table>", "</table>",
    "<nowiki>", "</nowiki>", "<br", "<", ">", "<sup>1", "&", "&lt;", "&#9;", "(", ")", "( ", ";",
    ",",
    "(from ", "(Aa Bb: ", "=", "\n==", "==\n", "\n* ", "\n; a : ", "\n\n", "\n", " ", "  \t",
    "word ",
    "{{convert|", "1|", "{{lang|fr|", "{{quote|", "{{nowrap|", "{{as of|", "__", "__NOTOC__",
    "ISBN ", "\0", "é", "\u200b", "\u00a0", "-", "!", ":", "#", "\ud800",
]  # fmt: skip


@settings(max_examples=100)
@given(st.lists(st.sampled_from(MARKUP) | st.text(max_size=5), max_size=60).map("".join))
def test_any_markup_gives_clean_lines(wikitext):
    text = running_text(wikitext)
    assert "\n\n" not in text
    assert "  " not in text
    assert not text.startswith("\n") or text == ""


@settings(max_examples=12)
@given(st.lists(st.sampled_from(MARKUP), min_size=1, max_size=4).map("".join))
def test_the_time_for_repeated_markup_is_linear(piece):
    """A quadratic pass would take minutes instead of a tenth of a second."""
    wikitext = piece * (150_000 // len(piece))
    start = time.process_time()
    residual_markup(running_text(wikitext))
    assert time.process_time() - start < 4


@pytest.mark.parametrize("mark", MARKUP)
def test_the_time_for_a_repeated_mark_is_linear(mark):
    start = time.process_time()
    running_text(mark * (100_000 // len(mark)))
    running_text((mark + "a ") * (100_000 // len(mark + "a ")) + "x")
    assert time.process_time() - start < 4


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("a [[b]] c", {"link": 2}),
        ("{{a|b}}", {"template": 2, "pipe": 1}),
        ("{| a || b |}", {"table": 3}),
        ("''a''", {"quotes": 2}),
        ("a<br/> <ref name=x>", {"tag": 2}),
        ("&nbsp; &#160;", {"entity": 2}),
        ("see http://x.org or www.x.org", {"url": 2}),
        ("File:a.jpg 200px style=x", {"file": 2, "attribute": 1}),
        ("a () b (, c) (d ;)", {"parentheses": 3}),
        ("== a\n* b __TOC__ <!-- -->", {"heading": 1, "list": 1, "switch": 1, "comment": 2}),
        ("Plain text (with this), it's 1 < 2; R&D.", {}),
    ],
)
def test_residual_markup_is_counted_by_kind(text, kinds):
    assert residual_markup(text) == Counter(kinds)


def test_the_text_of_the_wikipedia_sample_is_clean(shared_data):
    packed = (shared_data / "wikipedia" / "enwiki-sample.xml.bz2").read_bytes()
    pages = bz2.decompress(packed).decode().split("<page>")
    words = 0
    residual: Counter[str] = Counter()
    for page in pages[1:]:
        source = re.search(r"<text[^>]*>(.*?)</text>", page, re.DOTALL)
        if source and "<redirect" not in page:
            text = running_text(html.unescape(source[1]))
            words += len(text.split())
            residual += residual_markup(text)
    assert words > 400_000
    assert residual.total() <= 100 * words / 1_000_000, residual


def test_what_cannot_be_read_is_counted_by_reason():
    unread: Counter[str] = Counter()
    unclosed: Counter[str] = Counter()
    deep: Counter[str] = Counter()
    wikitext = (
        "The parish has {{formatnum:{{Count|12}}}} people, {{formatnum:{{#expr:3*4}}}} mills, and "
        "{{lc:OLD}} men {{cite|x}}. It has {{Infobox|a={b walls. The end }} is here."
    )
    running_text(wikitext, unread)
    assert unread == {"parser_function": 2}
    running_text(
        "In {{CURRENTYEAR}} {{padleft:7|3|0}} {{gender:Kim|his|her}} men {{ns|2}}.", unread
    )
    assert unread == {"parser_function": 5}
    running_text("A {{nowrap|sea is wide. It }} is. {{b", unclosed)
    assert unclosed == {"unclosed_template": 1}
    running_text("A sea is " + "{{nowrap|" * 9 + "wide" + "}}" * 9, deep)
    assert deep == {"template_too_deep": 1}
