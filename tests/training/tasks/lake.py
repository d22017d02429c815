"""A small lake with the tables that the tasks read, written as literal rows."""

from adnominal.etl.plane import TYPES
from adnominal.etl.sygns.generate import Sampler
from adnominal.etl.sygns.grammar import grammar
from adnominal.etl.sygns.splits import rows_of
from tests.rows import adept_row, plane_item, write

# Item, part, label.
ADEPT = [
    *((f"a{label}", "train", label) for label in range(5)),
    ("a5", "val", 0),
    ("a6", "val", 2),
    ("a7", "val", 4),
    ("a7", "val", 2),  # the release has sentences with two labels
    ("a8", None, 2),
]


def adept(lake, rows=ADEPT, edition="published"):
    write(
        lake,
        "adept",
        [
            adept_row(item, "dead", "dog", label, verb=f"of {item} barks", edition=edition)
            | {"agreement": "unanimous" if label == 2 else "majority", "split_random": part}
            for item, part, label in rows
        ],
    )


def plane(lake):
    """Two pairs of noun and hypernym to train on and one to test on, each with three adjectives."""
    items, splits = [], []
    words = [("dog", "animal", "train"), ("cup", "vessel", "train"), ("oak", "tree", "test")]
    for noun, hypernym, part in words:
        for adjective, kind in (("black", "I"), ("tall", "S"), ("fake", "O")):
            for inference in TYPES:
                items.append(plane_item(adjective, kind, noun, hypernym, inference))
                splits.append(_split("published", {"fold": "1"}, part, items[-1]["item_id"]))
    # The release lists some rows twice.
    splits.append(dict(splits[0]))
    splits.append(_split("strict", {"fold": "2"}, "test", items[0]["item_id"]))
    write(lake, "plane_items", items)
    write(lake, "plane_splits", splits)


def _split(scheme, fold, part, item, edition="published"):
    return {"scheme": scheme, **fold, "part": part, "item_id": item, "edition": edition}


def asp(lake):
    """Rounds with training and test rows in different editions, as in the release, or in one."""
    tuning, published = "published_tuning", "published"
    entailment, degree, splits = [], [], []

    def row(item, edition, part, test, label3, texts):
        number = "0" if edition == "clean" else "published"
        splits.append(_split("adjectives", {"round": number}, part, item, edition))
        label = "entailment" if label3 == "entailment" else "not_entailment"
        entailment.append(
            {
                "item_id": item,
                "test": test,
                "label": label,
                # Test rows have only the two-way label.
                "label3": None if part == "test" else label3,
                "premise": texts[0],
                "hypothesis": texts[1],
                "edition": edition,
            }
        )

    weak_strong = ("The tea is hot.", "The tea is scalding")
    boosted = ("The ox is very big.", "The ox is big.")
    for edition in (tuning, "clean"):
        for part in ("train", "val"):
            prefix = f"{edition}-{part}"
            row(f"{prefix}-1", edition, part, "ordering", "entailment", weak_strong[::-1])
            row(f"{prefix}-2", edition, part, "ordering", "contradiction", weak_strong)
            row(f"{prefix}-3", edition, part, "argument", "neutral", weak_strong)
    for edition in (published, "clean"):
        row(f"{edition}-t1", edition, "test", "booster", "entailment", boosted)
        row(f"{edition}-t2", edition, "test", "booster", "neutral", boosted[::-1])
    row("leak", published, "leaking", "ordering", "entailment", weak_strong)
    for edition in (tuning, published, "clean"):
        for place, dimension in enumerate(("length", "mass", "mass")):
            item = f"{edition}-d{place}"
            label = "discard" if edition == published and place == 2 else "entailment"
            degree.append(
                {
                    "item_id": item,
                    "test": "ordering",
                    "dimension": dimension,
                    "premise": "A 9 m oar is long. A 1 m oar is short.",
                    "hypothesis": "A 8 m oar is long.",
                    "label": label,
                    "label3": label if label == "entailment" else None,
                    "edition": edition,
                }
            )
            if edition == published:
                continue
            for held_out_dimension in ("length", "mass"):
                # In the release, only training and validation rows have splits.
                part = ("train", "val", "train")[place]
                if edition == "clean" and dimension == held_out_dimension:
                    part = "test"
                splits.append(
                    _split("dimension", {"round": held_out_dimension}, part, item, edition)
                )
    write(lake, "asp_entailment", entailment)
    write(lake, "asp_degree", degree)
    write(lake, "asp_splits", splits)


def nli(lake):
    labels = ("neutral", "entailment", "contradiction")
    write(
        lake,
        "nli",
        [
            {
                "item_id": f"{source}-{part}-{label}",
                "source": source,
                "premise": "A man sleeps.",
                "hypothesis": "A man is asleep.",
                "label": label,
                "split": part,
            }
            for source in ("mnli", "snli")
            for part in ("train", "val", "val_mismatched")
            for label in labels
        ],
    )


def sygns(lake, size=240, edition="paper"):
    """Sentences of depth 0 with the splits of the generator."""
    records = {
        record.sentence_id: record
        for record in Sampler(grammar("paper", 5, 5), 0, seed=0).records(range(size))
    }
    names = ("sentence_id", "depth", "sentence", "fol", "drs", "vf", "phenomena")
    rows, splits = [], []
    for record in records.values():
        rows.append({**{name: getattr(record, name) for name in names}, "edition": edition})
        splits += rows_of(rows[-1], ("systematicity",), 0, edition)
    write(lake, "sygns", rows)
    write(lake, "sygns_splits", splits)
