"""A WordNet of a few words in the original format, which NLTK can read too."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from adnominal.etl.knowledge.wordnet import POS

# The lemmas of a synset, and its pointers: the relation and number of another synset.
Synset = tuple[str, tuple[tuple[str, int], ...]]
NOUNS: tuple[Synset, ...] = (
    ("entity", ()),
    ("organism being", (("@", 0),)),
    ("animal beast", (("@", 1),)),
    ("domestic_animal", (("@", 2),)),
    ("canine canid", (("@", 2),)),
    ("dog Canis_familiaris", (("@", 3), ("@", 4), ("~", 7))),
    ("cad dog", (("@", 1),)),
    ("poodle", (("@", 5),)),
    ("Rover", (("@i", 5),)),
    ("box", (("@", 0),)),
    ("axis", (("@", 0),)),
    ("ax", (("@", 0),)),
    ("man", (("@", 1),)),
    ("gas", (("@", 0),)),
    ("wolf", (("@", 4),)),
    ("lady", (("@", 1),)),
)
OTHER_LEMMAS = {"v": ("bark", "try", "hope", "take"), "a": ("big", "nice", "free"), "r": ("well",)}
EXCEPTIONS = {
    "n": ("axes ax axis", "wolves wolf", "teeth tooth", "axes axis"),
    "v": ("took take", "tried try"),
    "a": ("bigger big",),
    "r": ("better well",),
}
LICENCE = "  1 WordNet {version} Copyright 2006 by Princeton University.  All rights reserved.  \n"
_TYPES = {"n": "1", "v": "2", "a": "3", "r": "4"}


def write(
    folder: Path,
    version: str = "3.0",
    exceptions: Mapping[str, Sequence[str]] = EXCEPTIONS,
    nouns: Sequence[Synset] = NOUNS,
    other_lemmas: Mapping[str, Sequence[str]] = OTHER_LEMMAS,
) -> Path:
    """Write the files into a folder; the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    senses: list[str] = []
    for pos, name in POS.items():
        synsets = nouns if pos == "n" else tuple((word, ()) for word in other_lemmas[pos])
        lines = _data(pos, synsets, LICENCE.format(version=version))
        head = LICENCE.format(version=version)
        (folder / f"data.{name}").write_text(head + "".join(lines))
        offsets: dict[str, list[str]] = {}
        for (words, _), line in zip(synsets, lines, strict=True):
            for word in words.lower().split():
                offsets.setdefault(word, []).append(line[:8])
        index = [
            f"{word} {pos} {len(places)} 1 @ {len(places)} 0 {' '.join(places)}  \n"
            for word, places in sorted(offsets.items())
        ]
        (folder / f"index.{name}").write_text(head + "".join(index))
        (folder / f"{name}.exc").write_text("".join(f"{line}\n" for line in exceptions[pos]))
        senses += [
            f"{word}%{_TYPES[pos]}:03:{place:02d}:: {offset} {place + 1} 0\n"
            for word, places in sorted(offsets.items())
            for place, offset in enumerate(places)
        ]
    (folder / "index.sense").write_text("".join(sorted(senses)))
    (folder / "cntlist.rev").write_text("")
    (folder / "lexnames").write_text("".join(f"{n:02d}\tnoun.{n}\t1\n" for n in range(45)))
    return folder


def _data(pos: str, synsets: Sequence[Synset], head: str):
    def lines(offsets: Sequence[int]) -> list[str]:
        data_lines = []
        for offset, (words, pointers) in zip(offsets, synsets, strict=True):
            lemmas = words.split()
            fields = "".join(f"{lemma} 0 " for lemma in lemmas)
            links = "".join(f"{kind} {offsets[at]:08d} {pos} 0000 " for kind, at in pointers)
            verb = "01 + 02 00 " if pos == "v" else ""
            data_lines.append(
                f"{offset:08d} 03 {pos} {len(lemmas):02x} {fields}{len(pointers):03d} {links}{verb}"
                "| what it is  \n"
            )
        return data_lines

    # Offsets always have eight digits, so the lengths of lines are known before the offsets.
    offsets = [len(head)]
    for line in lines([0] * len(synsets)):
        offsets.append(offsets[-1] + len(line))
    return lines(offsets[:-1])
