"""Prompts: templates and verbalisers from versioned files, ``conf/prompts/NAME.yaml``.

A *verbaliser* is a set of words that stand for the labels. A question has two forms:

* by likelihood, a template, filled for one item, is a text with a gap for one of the words;
* by generation, it is an instruction, and a pattern finds the word in the answer that is written.

A file has ``id``, ``version`` (a number, to be raised with every change), ``task``, ``source`` (the
origin of the wording) and one or both of

* ``templates``: a text by name, or a mapping of ``text`` and the ``verbalisers`` that fit it; with
  ``verbalisers`` (by name, the words of each label) and ``content_free`` (replacements for an item
  in a prompt without content);
* ``generation``: by name, ``text``, ``answer`` (how examples give theirs, with ``{answer}``),
  ``pattern`` (a regular expression with one group; ``{answers}`` stands for the words) and
  ``words``, those of each label. Without words, what the group finds is the answer.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from adnominal import conf
from adnominal.conf import UserError
from adnominal.etl import declaration
from adnominal.etl.prompts import promptsource
from adnominal.etl.registry import DATASETS

FOLDER = conf.ROOT / "conf" / "prompts"
ANSWER, ANSWERS = "{answer}", "{answers}"
_FIELD = re.compile(r"\{(\w*)\}")
_KEYS = ("id", "version", "task", "source")
_OPTIONAL = ("templates", "verbalisers", "content_free", "generation")
_GENERATION = {"text", "answer", "pattern"}


class Subject(NamedTuple):
    """What a task's prompts are about.

    `declared` names the files, `fields` are the fields of an item that templates have, in braces,
    and `labels` are in the order of their scores (none: those of the file's verbalisers).
    """

    declared: declaration.Prompts
    fields: tuple[str, ...]
    labels: tuple[str, ...] = ()


def _of_dataset(dataset: declaration.Dataset) -> Subject:
    items = dataset.tables[0]
    assert dataset.prompts is not None
    return Subject(dataset.prompts, items.pair or (str(items.single),), dataset.label_names)


SUBJECTS = {name: _of_dataset(dataset) for name, dataset in DATASETS.items() if dataset.prompts}
SUBJECTS["nli"] = Subject(declaration.Prompts("nli"), ("premise", "hypothesis"))
SUBJECTS["graded_pairs"] = Subject(declaration.Prompts("graded_pairs"), ("adjective", "noun"))


@dataclass(frozen=True)
class Verbaliser:
    """Words that stand for the labels: `words` of each label, in the order of the labels."""

    name: str
    labels: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]

    @property
    def all(self) -> tuple[str, ...]:
        """The words of all labels, label by label."""
        return tuple(word for label_words in self.words for word in label_words)

    def label(self, place: int) -> int:
        """Return the label of the word at `place` in `all`."""
        return [label for label, words in enumerate(self.words) for _ in words][place]


@dataclass(frozen=True)
class Template:
    """A template with its name in predictions, such as ``plane/internal@1``.

    `pattern` finds the answer in a written text; None for a text with a gap. `answer` is how an
    example of the generation form gives its answer.
    """

    name: str
    text: str
    verbalisers: tuple[Verbaliser, ...]
    answer: str = ANSWER
    pattern: str | None = None

    def text_around_gap(self, fields: Mapping[str, str]) -> tuple[str, str]:
        """Return the text before and after the gap; all is before where an answer is written."""
        text_before, _, text_after = self.text.partition(ANSWER)
        return _fill(text_before, fields), _fill(text_after, fields)

    def completion(self, fields: Mapping[str, str], word: str) -> str:
        """Return how an example goes on after the text before the gap."""
        if self.pattern is not None:
            return self.answer.replace(ANSWER, word)
        return word + self.text_around_gap(fields)[1]


@dataclass(frozen=True)
class Prompts:
    """All or some of the prompts of a file, in one form."""

    name: str
    version: int
    labels: tuple[str, ...]
    prompts: tuple[Template, ...]
    content_free: tuple[str, ...]
    text: str


def _fill(text: str, fields: Mapping[str, str]) -> str:
    # In one pass, so that braces in an item stay.
    return _FIELD.sub(lambda match: fields[match[1]], text)


def read(
    name: str,
    task: str,
    templates: Sequence[str] = (),
    verbalisers: Sequence[str] = (),
    form: str = "likelihood",
) -> Prompts:
    """Read the prompts of a file for a task: the named templates and verbalisers, or all.

    `name` is that of a file in conf/prompts, or a path.

    Raises:
        UserError: the file does not exist, breaks the rules above, is for another task or lacks the
            form, or `templates` or `verbalisers` name unknown entries or leave nothing to ask.
    """
    path = FOLDER / f"{name}.yaml" if (FOLDER / f"{name}.yaml").is_file() else Path(name)
    text, document = _document(path, name)
    if promptsource.is_promptsource(document):
        document = promptsource.convert(path, document, task)
    return _File(path, document, task).prompts(text, templates, verbalisers, form)


def _document(path: Path, name: str) -> tuple[str, Any]:
    """Return the text of a file and what it says; scalars stay text: yes, no and null are words."""
    try:
        text = path.read_text(encoding="utf-8")
        return text, yaml.load(text, Loader=yaml.BaseLoader)
    except (OSError, UnicodeDecodeError) as error:
        names = ", ".join(sorted(file.stem for file in FOLDER.glob("*.yaml")))
        raise UserError(f"prompts={name}: expected a YAML file, or one of {names}") from error
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not YAML: {' '.join(str(error).split())}") from error


def templates_of(task: str) -> list[Template]:
    """Return all templates of the files in conf/prompts for a task, of both forms."""
    templates: list[Template] = []
    for path in sorted(FOLDER.glob("*.yaml")):
        _, document = _document(path, path.stem)
        if document["task"] == task:
            file = _File(path, document, task)
            templates += file.templates("likelihood") + file.templates("generate")
    return templates


class _File:
    """A file of prompts; checked when it is opened."""

    def __init__(self, path: Path, document: Any, task: str) -> None:
        self._path, self._subject = path, SUBJECTS[task]
        self._document = self._checked_document(document, task)
        entries = self._document["verbalisers"]
        self._labels = self._subject.labels or _first_labels(self._document)
        self._verbalisers = {key: self._verbaliser(key, entry) for key, entry in entries.items()}

    def _checked_document(self, document: Any, task: str) -> dict[str, Any]:
        path = self._path
        keys = set(document) if isinstance(document, dict) else set()
        if not set(_KEYS) <= keys or keys - {*_KEYS, *_OPTIONAL}:
            got = ", ".join(document) if isinstance(document, dict) else type(document).__name__
            raise UserError(
                f"{path}: expected the keys {', '.join(_KEYS)} and some of "
                f"{', '.join(_OPTIONAL)}, got {got}"
            )
        if document["task"] != task:
            raise UserError(
                f"{path}: prompts for task={document['task']}; expected prompts for {task}"
            )
        if not str(document["version"]).isdecimal():
            raise UserError(f"{path}: version {document['version']}: expected a whole number")
        for key in _OPTIONAL:
            kind = list if key == "content_free" else dict
            if key in document and (not isinstance(document[key], kind) or not document[key]):
                expected = "names with their texts" if kind is dict else "a list of texts"
                raise UserError(f"{path}: {key}: expected {expected}")
        content_free = document.get("content_free", [])
        if not all(isinstance(member, str) for member in content_free):
            raise UserError(f"{path}: content_free: expected a list of texts")
        empty: dict[str, Any] = {"templates": {}, "verbalisers": {}, "generation": {}}
        return {**empty, "content_free": content_free, **document}

    def prompts(
        self, text: str, templates: Sequence[str], verbalisers: Sequence[str], form: str
    ) -> Prompts:
        """Return the prompts of a form with these templates and verbalisers, or all."""
        document, path = self._document, self._path
        entries = document["generation" if form == "generate" else "templates"]
        if not entries:
            other = "likelihood" if form == "generate" else "generate"
            raise UserError(f"{path}: no prompts for form={form}; expected form={other}")
        known = entries if form == "generate" else self._verbalisers
        _check_known(path, "verbalisers", verbalisers, known)
        _check_known(path, "templates", templates, entries)
        prompts = []
        for key, template in zip(entries, self.templates(form), strict=True):
            fitting = tuple(
                verbaliser
                for verbaliser in template.verbalisers
                if not verbalisers or verbaliser.name in verbalisers
            )
            is_free = form == "generate" and not template.verbalisers
            if (not templates or key in templates) and (fitting or is_free):
                prompts.append(replace(template, verbalisers=fitting))
        if not prompts:
            raise UserError(
                f"{path}: templates={','.join(templates)} have none of "
                f"verbalisers={','.join(verbalisers)}"
            )
        content_free = tuple(document["content_free"])
        version = int(document["version"])
        return Prompts(
            str(document["id"]), version, self._labels, tuple(prompts), content_free, text
        )

    def templates(self, form: str) -> list[Template]:
        """Return all templates of a form, in their order."""
        document = self._document
        entries = document["generation" if form == "generate" else "templates"]
        parse = self._instruction if form == "generate" else self._gap_text
        return [
            parse(key, entry, f"{document['id']}/{key}@{document['version']}")
            for key, entry in entries.items()
        ]

    def _verbaliser(self, name: str, entry: Any) -> Verbaliser:
        where = f"{self._path}: verbaliser {name}"
        labels = self._labels
        if not isinstance(entry, dict) or set(entry) != set(labels):
            raise UserError(f"{where}: expected words for {' and '.join(labels)}, got {entry}")
        words = tuple(
            tuple(entry[label]) if isinstance(entry[label], list) else (entry[label],)
            for label in labels
        )
        flat = [word for label_words in words for word in label_words]
        if not all(words) or not all(isinstance(word, str) and word.strip() for word in flat):
            raise UserError(f"{where}: expected one or more words for each label")
        repeated = sorted({word for word in flat if flat.count(word) > 1})
        if repeated:
            raise UserError(f"{where}: {repeated[0]!r} twice; expected each word once")
        return Verbaliser(name, labels, words)

    def _gap_text(self, key: str, entry: Any, name: str) -> Template:
        where = f"{self._path}: template {key}"
        values = entry
        if not isinstance(entry, dict):
            values = {"text": entry, "verbalisers": list(self._verbalisers)}
        if set(values) != {"text", "verbalisers"} or not isinstance(values["text"], str):
            raise UserError(f"{where}: expected a text, or its text and verbalisers; got {entry}")
        text = values["text"]
        gaps = _FIELD.findall(text).count("answer")
        if gaps != 1:
            raise UserError(f"{where}: {ANSWER} {gaps} times; expected it once")
        if not text.partition(ANSWER)[0].strip():
            raise UserError(f"{where}: {ANSWER} begins it; expected something before")
        self._check_fields(where, text)
        return Template(name, text, self._named(key, values["verbalisers"]))

    def _instruction(self, key: str, entry: Any, name: str) -> Template:
        where = f"{self._path}: generation {key}"
        keys = set(entry) if isinstance(entry, dict) else set()
        if keys - {"words"} != _GENERATION or not all(
            isinstance(entry[part], str) for part in _GENERATION
        ):
            raise UserError(
                f"{where}: expected text, answer and pattern, and words unless the answer is free; "
                f"got {entry}"
            )
        self._check_fields(where, entry["text"])
        if ANSWER not in entry["answer"]:
            raise UserError(f"{where}: answer: {entry['answer']!r}; expected {ANSWER} in it")
        verbalisers = (self._verbaliser(key, entry["words"]),) if "words" in entry else ()
        if bool(verbalisers) != (ANSWERS in entry["pattern"]):
            raise UserError(f"{where}: pattern: expected {ANSWERS} in it, where the words are")
        try:
            groups = re.compile(entry["pattern"].replace(ANSWERS, "")).groups
        except re.error as error:
            raise UserError(f"{where}: pattern: not a regular expression: {error}") from error
        if groups != 1:
            raise UserError(f"{where}: pattern: {groups} groups; expected one, of the answer")
        return Template(name, entry["text"], verbalisers, entry["answer"], entry["pattern"])

    def _check_fields(self, where: str, text: str) -> None:
        item_fields = [field for field in _FIELD.findall(text) if field != "answer"]
        known_fields = self._subject.fields
        if set(item_fields) != set(known_fields):
            spelled = " and ".join(f"{{{field}}}" for field in known_fields)
            raise UserError(f"{where}: {text!r}; expected exactly the fields {spelled}")

    def _named(self, key: str, names: Any) -> tuple[Verbaliser, ...]:
        if not isinstance(names, list) or not all(isinstance(member, str) for member in names):
            raise UserError(
                f"{self._path}: template {key}: verbalisers: expected a list of names, got {names}"
            )
        _check_known(self._path, f"template {key}, verbalisers", names, self._verbalisers)
        return tuple(self._verbalisers[name] for name in names)


def _first_labels(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the labels that a file names first, for tasks whose labels are not declared."""
    entries = [*document["verbalisers"].values()]
    entries += [entry["words"] for entry in document["generation"].values() if "words" in entry]
    return tuple(next((entry for entry in entries if isinstance(entry, dict)), ()))


def _check_known(path: Path, key: str, names: Sequence[str], entries: Mapping[str, object]) -> None:
    unknown = [name for name in names if name not in entries]
    if unknown:
        raise UserError(f"{key}={unknown[0]}: not in {path}; there is {', '.join(entries)}")
