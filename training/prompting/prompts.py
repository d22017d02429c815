"""Prompts: templates and verbalisers from versioned files, ``conf/prompts/NAME.yaml``.

A *verbaliser* is a set of words that stand for the labels. A template, filled for one item, is a
text with a gap for one of the verbaliser's words.

A file has ``id``, ``version`` (a number, to be raised with every change), ``task``, ``source`` (the
origin of the wording), ``templates`` (a text by name, or a mapping of ``text`` and the
``verbalisers`` that fit it), ``verbalisers`` (by name, the words of each label) and
``content_free`` (replacements for an item in a prompt without content). A file of promptsource is
read as well (`training.prompting.promptsource`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from adnominal import conf
from adnominal.conf import UserError
from adnominal.etl.registry import DATASETS
from adnominal.training.prompting import promptsource

FOLDER = conf.ROOT / "conf" / "prompts"
_PROMPTED = {name: dataset for name, dataset in DATASETS.items() if dataset.prompts is not None}
FIELDS = {name: dataset.tables[0].pair or () for name, dataset in _PROMPTED.items()}
"""The fields of an item that a task's templates may have, in braces."""
LABELS = {name: dataset.label_names for name, dataset in _PROMPTED.items()}
"""A task's labels, in the order of their scores."""
ANSWER = "{answer}"
_FIELD = re.compile(r"\{(\w*)\}")
_KEYS = ("id", "version", "task", "source", "templates", "verbalisers", "content_free")


@dataclass(frozen=True)
class Cloze:
    """A text with a gap: the text before and after it, and the words that may fill it."""

    prefix: str
    suffix: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Verbaliser:
    """Words that stand for the labels: `words` of each label, in the order of `LABELS`."""

    name: str
    words: tuple[tuple[str, ...], ...]

    @property
    def all(self) -> tuple[str, ...]:
        """The words of all labels, label by label."""
        return tuple(word for label_words in self.words for word in label_words)

    def label(self, place: int) -> int:
        """Return the label of the word at `place` in `all`."""
        return [label for label, words in enumerate(self.words) for _ in words][place]


@dataclass(frozen=True)
class Prompt:
    """A template with its name in predictions, such as ``plane/internal@1``."""

    name: str
    text: str
    verbalisers: tuple[Verbaliser, ...]

    def text_around_gap(self, fields: Mapping[str, str]) -> tuple[str, str]:
        """Return the text before and after the gap."""
        text_before, _, text_after = self.text.partition(ANSWER)
        return _fill(text_before, fields), _fill(text_after, fields)


@dataclass(frozen=True)
class Prompts:
    """All or some of the prompts of a file."""

    name: str
    version: int
    prompts: tuple[Prompt, ...]
    content_free: tuple[str, ...]
    text: str


def _fill(text: str, fields: Mapping[str, str]) -> str:
    # In one pass, so that braces in an item stay.
    return _FIELD.sub(lambda match: fields[match[1]], text)


def read(
    name: str, task: str, templates: Sequence[str] = (), verbalisers: Sequence[str] = ()
) -> Prompts:
    """Read the prompts of a file for a task: the named templates and verbalisers, or all.

    `name` is that of a file in conf/prompts, or a path.

    Raises:
        UserError: the file does not exist, breaks the rules above or is for another task, or
            `templates` or `verbalisers` name unknown entries or leave nothing to ask.
    """
    path = FOLDER / f"{name}.yaml" if (FOLDER / f"{name}.yaml").is_file() else Path(name)
    try:
        text = path.read_text(encoding="utf-8")
        # Scalars stay text: a word may be yes, no, true or null.
        document = yaml.load(text, Loader=yaml.BaseLoader)
    except (OSError, UnicodeDecodeError) as error:
        names = ", ".join(sorted(file.stem for file in FOLDER.glob("*.yaml")))
        raise UserError(f"prompts={name}: expected a YAML file, or one of {names}") from error
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    if promptsource.is_promptsource(document):
        document = promptsource.convert(path, document, task)
    return _parsed_prompts(path, document, text, task, templates, verbalisers)


def _parsed_prompts(
    path: Path,
    document: Any,
    text: str,
    task: str,
    templates: Sequence[str],
    verbalisers: Sequence[str],
) -> Prompts:
    if not isinstance(document, dict) or set(document) != set(_KEYS):
        got = ", ".join(document) if isinstance(document, dict) else type(document).__name__
        raise UserError(f"{path}: expected the keys {', '.join(_KEYS)}, got {got}")
    if document["task"] != task:
        raise UserError(f"{path}: prompts for task={document['task']}; expected prompts for {task}")
    if not str(document["version"]).isdecimal():
        raise UserError(f"{path}: version {document['version']}: expected a whole number")
    for key, kind in (("templates", dict), ("verbalisers", dict), ("content_free", list)):
        if not isinstance(document[key], kind) or not document[key]:
            expected = "names with their texts" if kind is dict else "a list of texts"
            raise UserError(f"{path}: {key}: expected {expected}")
    if not all(isinstance(member, str) for member in document["content_free"]):
        raise UserError(f"{path}: content_free: expected a list of texts")
    known_verbalisers = {
        key: _verbaliser(path, key, value, task) for key, value in document["verbalisers"].items()
    }
    _check_known(path, "verbalisers", verbalisers, known_verbalisers)
    _check_known(path, "templates", templates, document["templates"])
    prompts = []
    for key, entry in document["templates"].items():
        template, fitting_verbalisers = _template(path, key, entry, task, known_verbalisers)
        fitting_verbalisers = [
            verbaliser
            for verbaliser in fitting_verbalisers
            if not verbalisers or verbaliser.name in verbalisers
        ]
        if (not templates or key in templates) and fitting_verbalisers:
            name = f"{document['id']}/{key}@{document['version']}"
            prompts.append(Prompt(name, template, tuple(fitting_verbalisers)))
    if not prompts:
        raise UserError(
            f"{path}: templates={','.join(templates)} have none of "
            f"verbalisers={','.join(verbalisers)}"
        )
    return Prompts(
        str(document["id"]),
        int(document["version"]),
        tuple(prompts),
        tuple(document["content_free"]),
        text,
    )


def _check_known(path: Path, key: str, names: Sequence[str], entries: Mapping[str, object]) -> None:
    unknown = [name for name in names if name not in entries]
    if unknown:
        raise UserError(f"{key}={unknown[0]}: not in {path}; there is {', '.join(entries)}")


def _verbaliser(path: Path, name: str, entry: Any, task: str) -> Verbaliser:
    where = f"{path}: verbaliser {name}"
    if not isinstance(entry, dict) or set(entry) != set(LABELS[task]):
        raise UserError(f"{where}: expected words for {' and '.join(LABELS[task])}, got {entry}")
    words = tuple(
        tuple(label_words) if isinstance(label_words, list) else (label_words,)
        for label_words in (entry[label] for label in LABELS[task])
    )
    flat = [word for label_words in words for word in label_words]
    if not all(words) or not all(isinstance(word, str) and word.strip() for word in flat):
        raise UserError(f"{where}: expected one or more words for each label")
    repeated = sorted({word for word in flat if flat.count(word) > 1})
    if repeated:
        raise UserError(f"{where}: {repeated[0]!r} twice; expected each word once")
    return Verbaliser(name, words)


def _template(
    path: Path, name: str, entry: Any, task: str, verbalisers: Mapping[str, Verbaliser]
) -> tuple[str, list[Verbaliser]]:
    where = f"{path}: template {name}"
    values = entry if isinstance(entry, dict) else {"text": entry, "verbalisers": list(verbalisers)}
    if set(values) != {"text", "verbalisers"} or not isinstance(values["text"], str):
        raise UserError(f"{where}: expected a text, or its text and verbalisers; got {entry}")
    text = values["text"]
    fields = _FIELD.findall(text)
    if fields.count("answer") != 1:
        raise UserError(f"{where}: {ANSWER} {fields.count('answer')} times; expected it once")
    if not text.partition(ANSWER)[0].strip():
        raise UserError(f"{where}: {ANSWER} begins it; expected something before")
    item_fields = [field for field in fields if field != "answer"]
    known_fields = FIELDS[task]
    if set(item_fields) != set(known_fields):
        spelled = " and ".join(f"{{{field}}}" for field in known_fields)
        raise UserError(f"{where}: {text!r}; expected exactly the fields {spelled}")
    names = values["verbalisers"]
    if not isinstance(names, list) or not all(isinstance(member, str) for member in names):
        raise UserError(f"{where}: verbalisers: expected a list of names, got {names}")
    _check_known(path, f"template {name}, verbalisers", names, verbalisers)
    return text, [verbalisers[verbaliser] for verbaliser in names]
