import pytest

from adnominal import conf
from adnominal.conf import UserError
from adnominal.etl.prompts.files import SUBJECTS, read
from adnominal.training.asking.outcomes import Outcome
from adnominal.training.asking.replies import read_reply

FILES = sorted((conf.ROOT / "conf" / "prompts").glob("*.yaml"))
PROMPT_FILE = """
id: own
version: 3
task: plane
source: this test
templates:
  plain: "A {premise} is {answer} a {conclusion}."
  other: {text: "Is a {premise} a {conclusion}? {answer}", verbalisers: [yes/no]}
verbalisers:
  so/not: {entailed: [so, thus], not entailed: not}
  yes/no: {entailed: [yes], not entailed: [no]}
content_free: [N/A, ""]
"""


def write_prompts(tmp_path, old="", new=""):
    assert old in PROMPT_FILE
    path = tmp_path / "own.yaml"
    path.write_text(PROMPT_FILE.replace(old, new) if old else PROMPT_FILE)
    return str(path)


@pytest.mark.parametrize("form", ["likelihood", "generate"])
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_prompt_file_can_be_read(file, form):
    task = next(name for name in SUBJECTS if file.stem.startswith(name))
    if (task, form) == ("sygns", "likelihood"):
        with pytest.raises(UserError, match="no prompts for form=likelihood"):
            read(file.stem, task)
        return
    prompts = read(file.stem, task, form=form)
    assert prompts.name == file.stem
    assert all(prompt.name.startswith(f"{file.stem}/") for prompt in prompts.prompts)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_pattern_reads_the_answers_of_the_examples(file):
    task = next(name for name in SUBJECTS if file.stem.startswith(name))
    for template in read(file.stem, task, form="generate").prompts:
        for verbaliser in template.verbalisers or (None,):
            words = verbaliser.all if verbaliser else ("some x. (x)",)
            labels = verbaliser.labels if verbaliser else words
            for label, word in zip(labels, words, strict=True):
                reply = Outcome(template.completion({}, word), "stop")
                read_answer = read_reply(reply, template, verbaliser, "</think>")
                assert (read_answer.state, read_answer.answer) == ("parsed", label)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_answer_of_nothing_but_the_word_is_read_too(file):
    task = next(name for name in SUBJECTS if file.stem.startswith(name))
    for template in read(file.stem, task, form="generate").prompts:
        for verbaliser in template.verbalisers:
            for label, word in zip(verbaliser.labels, verbaliser.all, strict=True):
                for text, answer in ((f"**{word}**.\n", label), (f"{word} or so", None)):
                    reply = Outcome(text, "stop")
                    assert read_reply(reply, template, verbaliser, "</think>").answer == answer


def test_templates_and_words_are_those_of_the_paper():
    prompts = read("plane", "plane")
    fields = {"premise": "big car", "conclusion": "big vehicle"}
    assert [prompt.text_around_gap(fields) for prompt in prompts.prompts] == [
        ("A big car is a ", " example of a big vehicle."),
        ("A big car is a type of big vehicle: ", "."),
    ]
    names = [verbaliser.name for verbaliser in prompts.prompts[0].verbalisers]
    assert names == ["good/poor", "true/false", "positive/negative"]
    conversion = read("plane_zero_shot", "plane").prompts[0].verbalisers[0]
    assert [len(words) for words in conversion.words] == [8, 8]
    assert conversion.label(conversion.all.index("weak")) == 0
    assert conversion.label(conversion.all.index("strong")) == 1


def test_words_stay_text_and_labels_are_ordered(tmp_path):
    prompts = read(write_prompts(tmp_path), "plane")
    first, second = prompts.prompts[0].verbalisers
    assert (first.words, second.words) == ((("not",), ("so", "thus")), (("no",), ("yes",)))
    assert [prompts.prompts[1].verbalisers[0].name] == ["yes/no"]
    assert prompts.prompts[1].name == "own/other@3"
    assert prompts.content_free == ("N/A", "")


def test_braces_in_an_item_are_not_filled(tmp_path):
    prompt = read(write_prompts(tmp_path), "plane").prompts[0]
    fields = {"premise": "{answer} {conclusion}", "conclusion": "b"}
    assert prompt.text_around_gap(fields) == ("A {answer} {conclusion} is ", " a b.")


def test_templates_and_verbalisers_can_be_selected(tmp_path):
    path = write_prompts(tmp_path)
    (prompt,) = read(path, "plane", templates=["plain"], verbalisers=["yes/no"]).prompts
    assert (prompt.name, [v.name for v in prompt.verbalisers]) == ("own/plain@3", ["yes/no"])
    with pytest.raises(UserError, match=r"templates=wide: not in .*; there is plain, other"):
        read(path, "plane", templates=["wide"])
    with pytest.raises(UserError, match="have none of verbalisers=so/not"):
        read(path, "plane", templates=["other"], verbalisers=["so/not"])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version: 3", "version: three", "version three: expected a whole number"),
        ("source: this test\n", "", "expected the keys id, version"),
        ("{answer} a", "{answer} {answer} a", "plain: {answer} 2 times; expected it once"),
        ("A {premise} is {answer} a", "{answer} is {premise} a", "plain: {answer} begins it"),
        (
            "is {answer} a {conclusion}",
            "is {answer} a {noun}",
            "exactly the fields {premise} and {conclusion}",
        ),
        ("is {answer} a {conclusion}", "is {answer}", "exactly the fields {premise} and"),
        ("[so, thus]", "{so: thus}", "so/not: expected one or more words for each label"),
        ("verbalisers: [yes/no]", "verbalisers: [[yes/no]]", "expected a list of names"),
        ('[N/A, ""]', "[[N/A]]", "content_free: expected a list of texts"),
        ("[so, thus]", "[]", "so/not: expected one or more words for each label"),
        ("[so, thus]", "[not]", "so/not: 'not' twice"),
        ("not entailed: not", "no: not", "so/not: expected words for not entailed and entailed"),
        ("verbalisers: [yes/no]", "verbalisers: [maybe]", "maybe: not in"),
        ('[N/A, ""]', "[]", "content_free: expected a list of texts"),
        ("task: plane", "task: asp", "prompts for task=asp; expected prompts for plane"),
        ("verbalisers:\n", "verbalisers: [\n", "not YAML"),
    ],
)
def test_a_broken_file_is_reported_by_name(tmp_path, old, new, message):
    with pytest.raises(UserError) as error:
        read(write_prompts(tmp_path, old, new), "plane")
    assert message in str(error.value)
    assert "own.yaml" in str(error.value)


GENERATION = """
id: own
version: 3
task: plane
source: this test
generation:
  plain:
    text: "Is a {premise} a {conclusion}?"
    answer: "So: {answer}"
    pattern: "So: ({answers})"
    words: {entailed: [yes, sure], not entailed: no}
"""


def test_an_instruction_has_its_own_words_and_shows_answers(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(GENERATION)
    (template,) = read(str(path), "plane", form="generate").prompts
    assert (template.name, template.verbalisers[0].name) == ("own/plain@3", "plain")
    assert template.verbalisers[0].words == (("no",), ("yes", "sure"))
    fields = {"premise": "red car", "conclusion": "car"}
    assert template.text_around_gap(fields) == ("Is a red car a car?", "")
    assert template.completion(fields, "yes") == "So: yes"
    with pytest.raises(UserError, match=r"no prompts for form=likelihood; expected form=generate"):
        read(str(path), "plane")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("So: ({answers})", "So: {answers}", "0 groups; expected one"),
        ("So: ({answers})", "So: (yes|no)", "expected {answers} in it"),
        ("So: ({answers})", "So: ({answers}", "not a regular expression"),
        ("So: {answer}", "So", "answer: 'So'; expected {answer} in it"),
        ("{premise} a", "phrase a", "exactly the fields {premise} and {conclusion}"),
        ("    words: {entailed: [yes, sure], not entailed: no}", "", "expected {answers} in it"),
        ("not entailed: no", "no: no", "expected words for not entailed and entailed"),
        ('    answer: "So: {answer}"', "", "expected text, answer and pattern"),
    ],
)
def test_a_broken_instruction_is_reported(tmp_path, old, new, message):
    assert old in GENERATION
    path = tmp_path / "own.yaml"
    path.write_text(GENERATION.replace(old, new))
    with pytest.raises(UserError) as error:
        read(str(path), "plane", form="generate")
    assert message in str(error.value)


def test_a_missing_file_is_reported_with_the_existing_ones():
    message = r"prompts=nothing: .* one of adept, asp, graded_pairs, .*, plane, plane_zero_shot"
    with pytest.raises(UserError, match=message):
        read("nothing", "plane")
