import contextlib
import csv
import gzip
import pickle
import shutil
import warnings
from codecs import BOM_UTF8
from pathlib import Path

import nltk
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.corpus.reader.wordnet import WordNetCorpusReader

from adnominal.conf import UserError
from adnominal.etl.knowledge import wordnet
from adnominal.etl.knowledge.wordnet import POS, base_forms
from tests.commands import run_python
from tests.etl.knowledge.wordnet_files import EXCEPTIONS, NOUNS, OTHER_LEMMAS, write


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return write(tmp_path_factory.mktemp("nltk_data") / "corpora" / "wordnet")


@pytest.fixture(scope="module")
def small_wordnet(folder) -> wordnet.WordNet:
    return wordnet.find(str(folder))


@pytest.fixture(scope="module")
def nltk_reader(folder):
    nltk.data.path.insert(0, str(folder.parents[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reader = WordNetCorpusReader(nltk.data.find("corpora/wordnet"), None)
    # All is read at once, so that the folder leaves the data path before other tests.
    list(reader.all_synsets())
    nltk.data.path.remove(str(folder.parents[1]))
    return reader


def forms_by_pos(files: wordnet.WordNet) -> dict[str, dict[str, list[str]]]:
    forms: dict[str, dict[str, list[str]]] = {pos: {} for pos in POS}
    for row in wordnet.exceptions(files).to_pylist():
        places = forms[row["pos"]].setdefault(row["form"], [])
        assert row["place"] == len(places)
        places.append(row["lemma"])
    return forms


def test_lemmas_are_in_lower_case_with_spaces(small_wordnet):
    rows = {(row["lemma"], row["pos"]) for row in wordnet.lemmas(small_wordnet).to_pylist()}
    nouns = {word.lower().replace("_", " ") for words, _ in NOUNS for word in words.split()}
    assert rows == {(word, "n") for word in nouns} | {
        (word, pos) for pos, words in OTHER_LEMMAS.items() for word in words
    }
    assert "canis familiaris" in nouns


def test_every_sense_has_hypernyms_at_their_shortest_distance(small_wordnet):
    rows = wordnet.hypernyms(small_wordnet).to_pylist()
    dog = [tuple(row.values())[1:] for row in rows if row["noun"] == "dog"]
    # By both paths, "animal" is two steps above "dog", and "entity" four.
    assert dog == [
        (1, 1, "canine", "dog.n.01", "canine.n.01", True),
        (1, 1, "canid", "dog.n.01", "canine.n.01", False),
        (1, 1, "domestic animal", "dog.n.01", "domestic_animal.n.01", True),
        (1, 2, "animal", "dog.n.01", "animal.n.01", True),
        (1, 2, "beast", "dog.n.01", "animal.n.01", False),
        (1, 3, "organism", "dog.n.01", "organism.n.01", True),
        (1, 3, "being", "dog.n.01", "organism.n.01", False),
        (2, 1, "organism", "cad.n.01", "organism.n.01", True),
        (2, 1, "being", "cad.n.01", "organism.n.01", False),
        (2, 2, "entity", "cad.n.01", "entity.n.01", True),
    ]
    rover = [(r["distance"], r["hypernym"]) for r in rows if r["noun"] == "rover"][:2]
    assert rover == [(1, "dog"), (1, "canis familiaris")]


def test_nltk_has_the_same_hypernyms(small_wordnet, nltk_reader):
    by_wordnet: dict[tuple[str, str], set[tuple[int, str]]] = {}
    for row in wordnet.hypernyms(small_wordnet).to_pylist():
        noun = row["noun"].replace(" ", "_")
        ancestors = by_wordnet.setdefault((noun, row["noun_synset"]), set())
        ancestors.add((row["distance"], row["hypernym_synset"]))
    by_nltk: dict[tuple[str, str], set[tuple[int, str]]] = {}
    for lemma in nltk_reader.all_lemma_names("n"):
        for synset in nltk_reader.synsets(lemma, "n"):
            level, visited, ancestors = [synset], {synset}, set()
            for steps in (1, 2, 3):
                parents = [u for s in level for u in (*s.hypernyms(), *s.instance_hypernyms())]
                level = [u for u in parents if u not in visited]
                visited.update(level)
                ancestors |= {(steps, u.name()) for u in level}
            if ancestors:
                by_nltk[lemma, synset.name()] = ancestors
    assert by_wordnet == by_nltk


@given(
    st.sampled_from("nvar"),
    st.one_of(
        st.sampled_from(
            [form for lines in EXCEPTIONS.values() for line in lines for form in line.split()]
        ),
        st.builds(
            str.__add__,
            st.sampled_from(["dog", "box", "man", "wol", "lad", "gas", "bark", "tr", "hop", "tak"]),
            st.sampled_from(["", "s", "es", "ies", "ed", "e", "ing", "er", "est", "ves", "ses"]),
        ),
        st.text(alphabet="abdegilmnorsvwxyz", min_size=1, max_size=6),
    ),
)
def test_candidates_and_lemmas_are_equivalent_to_morphy(small_wordnet, nltk_reader, pos, form):
    known_lemmas = {
        row["lemma"] for row in wordnet.lemmas(small_wordnet).to_pylist() if row["pos"] == pos
    }
    candidates = [
        c for c in base_forms(form, pos, forms_by_pos(small_wordnet)[pos]) if c in known_lemmas
    ]
    assert (candidates[0] if candidates else None) == nltk_reader.morphy(form, pos)


def test_candidates_are_exceptions_and_regular_forms():
    assert base_forms("axes", "n", {"axes": ["ax", "axis"]}) == ["axes", "ax", "axis"]
    assert base_forms("axes", "n", {}) == ["axes", "axe", "ax"]
    assert base_forms("s", "n", {}) == ["s"]


@pytest.fixture
def empty_places(tmp_path, monkeypatch):
    """No WordNet in the usual places; the folder in NLTK's data path."""
    for name in ("WNHOME", "WNSEARCHDIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(wordnet, "DEBIAN", tmp_path / "debian")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nltk_data")])
    return tmp_path / "nltk_data"


def test_wordnet_is_found_in_archives_and_by_the_environment(
    folder, tmp_path, monkeypatch, small_wordnet, empty_places
):
    archive = empty_places / "corpora" / "wordnet.zip"
    shutil.make_archive(str(archive.with_suffix("")), "zip", folder.parent, "wordnet")
    zipped = wordnet.find()
    assert zipped.place == str(archive)
    assert wordnet.hypernyms(zipped).equals(wordnet.hypernyms(small_wordnet))
    assert wordnet.exceptions(zipped).equals(wordnet.exceptions(small_wordnet))
    without_folder = shutil.make_archive(str(tmp_path / "files"), "zip", folder)
    assert wordnet.hypernyms(wordnet.find(without_folder)).equals(wordnet.hypernyms(small_wordnet))
    write(empty_places / "corpora" / "wordnet")
    assert wordnet.find().place == str(empty_places / "corpora" / "wordnet")
    monkeypatch.setattr(nltk.data, "path", [])
    write(tmp_path / "home" / "dict")
    monkeypatch.setenv("WNHOME", str(tmp_path / "home"))
    assert wordnet.find().place == str(tmp_path / "home" / "dict")
    monkeypatch.setenv("WNSEARCHDIR", str(folder))
    assert wordnet.find().place == str(folder)


def test_nltk_data_in_the_environment_is_searched(folder):
    code = "from adnominal.etl.knowledge import wordnet; print(wordnet.find().place)"
    process = run_python("-c", code, variables={"NLTK_DATA": str(folder.parents[1])})
    assert process.stdout.strip() == str(folder)


def test_files_are_read_through_links_and_as_saved_on_windows(folder, tmp_path, small_wordnet):
    for file in folder.iterdir():
        content = BOM_UTF8 + file.read_bytes().replace(b"\n", b"\r\n")
        copy = tmp_path / "files" / file.name
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(content)
        copy.chmod(0o666)
        (tmp_path / file.name).symlink_to(copy)
    assert wordnet.tables(wordnet.find(str(tmp_path))) == wordnet.tables(small_wordnet)


def test_files_that_only_nltk_needs_may_be_missing(tmp_path, small_wordnet):
    folder = write(tmp_path)
    for name in ("lexnames", "index.sense", "cntlist.rev", "data.verb", "data.adv"):
        (folder / name).unlink()
    data = folder / "data.noun"
    data.write_text(data.read_text().replace("| what it is", "| this | that"))
    assert wordnet.tables(wordnet.find(str(folder))) == wordnet.tables(small_wordnet)


def test_nltk_opens_downloads_and_unpickles_nothing(folder, monkeypatch, small_wordnet):
    def refuse(*_args: object, **_settings: object) -> None:
        raise AssertionError("NLTK opens something")

    for module, name in ((nltk.pathsec, "open"), (nltk.pathsec, "urlopen"), (nltk.data, "find")):
        monkeypatch.setattr(module, name, refuse)
    for module, name in ((nltk.data, "load"), (nltk, "download"), (pickle, "load")):
        monkeypatch.setattr(module, name, refuse)
    assert wordnet.tables(wordnet.find(str(folder))) == wordnet.tables(small_wordnet)


def test_half_an_installation_is_reported_with_what_is_missing(tmp_path, empty_places):
    half = write(empty_places / "corpora" / "wordnet")
    (half / "index.adv").unlink()
    with pytest.raises(UserError, match=rf"{half} \(without index\.adv\)"):
        wordnet.find()
    with pytest.raises(UserError, match=r"no WordNet there \(without index\.adv\); expected"):
        wordnet.find(str(half))
    archive = shutil.make_archive(str(tmp_path / "half"), "zip", half.parent, "wordnet")
    with pytest.raises(UserError, match=r"no WordNet there \(without index\.adv\); expected"):
        wordnet.find(archive)


def test_a_missing_wordnet_and_other_versions_are_reported(
    tmp_path, monkeypatch, caplog, empty_places
):
    other = write(tmp_path / "other", version="3.1")
    for name in POS.values():
        (other / f"{name}.exc").unlink()
    monkeypatch.setenv("WNSEARCHDIR", str(other))
    with pytest.raises(UserError, match=r"no WordNet 3\.0; .*other \(version 3\.1\).*debian") as e:
        wordnet.find()
    assert all(place in str(e.value) for place in ("nltk_data", "apt-get", "WNHOME"))
    assert f"{empty_places}/corpora/wordnet.zip (none)" in str(e.value)
    assert wordnet.exceptions(wordnet.find(str(other))).num_rows == 0
    assert "WordNet 3.1" in caplog.text and "no noun.exc" in caplog.text
    with pytest.raises(UserError, match=r"no WordNet there \(none\); expected a folder"):
        wordnet.find(str(tmp_path))
    with pytest.raises(UserError, match="no such folder"):
        wordnet.find(str(tmp_path / "gone"))


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("data.noun", " 03 n 02 ", " 03 n 0f ", r"data\.noun:3: not a synset"),
        ("data.noun", "0 001 @ ", "0 002 @ ", r"data\.noun:3: "),
        ("data.noun", "0 001 @ ", "0 001 @ x", r"data\.noun:3: not a synset"),
        ("data.noun", "0 001 @ ", "0 001 @ 9", r"data\.noun:3: data\.noun has no synset at 9\d+"),
        ("data.noun", " box 0 ", " fox 0 ", r"data\.noun:11: not a synset.* not of one release"),
        ("index.noun", "box n 1 1 @ 1", "box n x 1 @ 1", r"index\.noun:7: not an entry"),
        ("index.noun", "box n 1 1 @ 1", "box n 1 3 @ 1", r"index\.noun:7: not an entry"),
        ("index.noun", "box n 1 1 @ 1 0 ", "box n 1 1 @ 1 0  9", "not of one release"),
        (
            "index.noun",
            "box n 1 1 @ 1 0 ",
            "box n 1 1 @ 1 0 9",
            r"index\.noun:7: data\.noun has no",
        ),
        ("index.adv", "well r 1 1", "well r 1", r"index\.adv:2: not an entry"),
        ("index.noun", None, " no entries", r"index\.noun has no words; the file is damaged"),
        ("index.adj", None, "", r"index\.adj has no words; the file is damaged"),
        ("noun.exc", "teeth tooth", "teeth", r"noun\.exc:3: the form 'teeth' without a lemma"),
        ("noun.exc", "teeth tooth", "\tteeth", r"noun\.exc:3: the form 'teeth' without a lemma"),
    ],
)
def test_damaged_files_are_reported_with_their_line(tmp_path, file, old, new, message):
    damaged = write(tmp_path)
    text = (damaged / file).read_text()
    assert old is None or old in text
    (damaged / file).write_text(text.replace(old, new, 1) if old else new)
    with pytest.raises(UserError, match=message) as error:
        wordnet.tables(wordnet.find(str(damaged)))
    assert "\n" not in str(error.value)


def test_a_cut_file_of_synsets_is_reported(tmp_path):
    file = write(tmp_path) / "data.noun"
    content = file.read_bytes()
    last_gloss = content.rindex(b"|")
    for size in [*range(100, last_gloss, 50), last_gloss - 1]:
        file.write_bytes(content[:size])
        with pytest.raises(UserError, match=r"(index|data)\.noun:\d+: .*damaged or not of one"):
            wordnet.tables(wordnet.find(str(tmp_path)))


@pytest.mark.parametrize("name", ["index.noun", "data.adj", "noun.exc", "index.adv"])
def test_other_cut_files_are_read_or_reported(tmp_path, name):
    file = write(tmp_path) / name
    content = file.read_bytes()
    for size in range(0, len(content), 5):
        file.write_bytes(content[:size])
        with contextlib.suppress(UserError):
            wordnet.tables(wordnet.find(str(tmp_path)))


def test_wordnet_has_the_published_hypernyms_of_plane(shared_data, wordnet_hypernyms):
    """Those of the OoD test part are first lemmas above the first sense of the noun."""
    files = wordnet.find()
    nouns = {r["lemma"] for r in wordnet.lemmas(files).to_pylist() if r["pos"] == "n"}
    forms = forms_by_pos(files)["n"]
    with gzip.open(shared_data / "plane" / "ood_test_1.tsv.gz", "rt", encoding="utf-8") as lines:
        pairs = {(r["noun"], r["hypernym"]) for r in csv.DictReader(lines, delimiter="\t")}
    bases = {noun: next(b for b in base_forms(noun, "n", forms) if b in nouns) for noun, _ in pairs}
    first_sense = pc.field("first_lemma") & (pc.field("sense") == 1)
    rows = wordnet_hypernyms.filter(first_sense & pc.field("noun").isin(list(bases.values())))
    hypernym_pairs = set(zip(rows["noun"].to_pylist(), rows["hypernym"].to_pylist(), strict=True))
    assert len(pairs) == 91
    assert [pair for pair in pairs if (bases[pair[0]], pair[1]) not in hypernym_pairs] == []


def test_a_damaged_archive_is_reported(folder, tmp_path):
    path = Path(shutil.make_archive(str(tmp_path / "wordnet"), "zip", folder.parent, folder.name))
    path.write_bytes(path.read_bytes().replace(b"PK\x01\x02", b"PK\0\0"))
    with pytest.raises(UserError, match=rf"^wordnet={path}: cannot be read: Bad magic number"):
        wordnet.find(str(path))
