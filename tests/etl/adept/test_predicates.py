import re

import pytest

from adnominal.etl.adept.predicates import Edge, Unfit, gist, statement
from adnominal.etl.adept.words import Words

POS = {
    "n": "dog cat candidate election can medium victim balalaika music vasodilator thing guest "
    "activity sleep jeans banana friend promise person industry star sun car wheel engine chair "
    "sleeping rest war famine story heart opinion food gasoline ring diamond diamond-ring use fat "
    "pay",
    "v": "win bark make wear store cook be pay use do give run open swim come tell treat "
    "contribute play see share fat please guard",
    "a": "huge useful red cold happy many true curved other big used broken",
    "r": "often very",
}
WORDS = Words(
    {
        word: "".join(part for part in "narv" if word in POS[part].split())
        for words in POS.values()
        for word in words.split()
    }
    | {"diamond ring": "n"},
    offensive=frozenset({"nasty"}),
)


def sentence_of(relation, start, frame, end, **options):
    text = re.sub(r"\bX\b", f"[[{start}]]", frame)
    text = re.sub(r"\bY\b", f"[[{end}]]", text)
    return statement(Edge(relation, start, end, text), WORDS, **options).sentence


@pytest.mark.parametrize("rules", ["paper", "clean"])
def test_the_predicate_is_the_end_of_the_edge(rules):
    edge = Edge("CapableOf", "dog", "bark", "[[a dog]] can [[bark]]")
    dog_barks = statement(edge, WORDS, rules=rules)
    assert (dog_barks.predicate, dog_barks.sentence) == ("bark", "A dog barks.")


# The frames of the released facts, and their sentences by the rules of the paper and by ours.
@pytest.mark.parametrize(
    ("relation", "start", "frame", "end", "paper", "clean"),
    [
        ("CapableOf", "a candidate", "X can Y", "win an election",
         "A candidate wins an election.", "A candidate wins an election."),
        ("CapableOf", "Friends", "X can Y", "make a promise",
         "Friends makes a promise.", "Friends make a promise."),
        ("CapableOf", "a vasodilator", "X may Y", "treat cats",
         "A vasodilator may treat cats.", "A vasodilator treats cats."),
        ("CapableOf", "industry", "X can often Y", "contribute to war",
         "Industry can often contribute to war.", "Industry often contributes to war."),
        ("CapableOf", "a thing", "An activity X can do is Y", "swim",
         "An activity a thing can do is swim.", "A thing swims."),
        ("UsedFor", "a balalaika", "You can use X to Y", "make music",
         "You use a balalaika to make music.", "You use a balalaika to make music."),
        ("UsedFor", "a balalaika", "X can be used to Y", "make music",
         "A balalaika is used to make music.", "A balalaika is used to make music."),
        ("UsedFor", "cats", "X can be used for Y", "making friends",
         "Cats is used for making friends.", "Cats are used for making friends."),
        ("UsedFor", "a balalaika", "X is for Y", "making music",
         "A balalaika is for making music.", "A balalaika is for making music."),
        ("UsedFor", "balalaika", "X is used for Y", "music",
         "Balalaika is used for music.", "A balalaika is used for music."),
        ("HasProperty", "a story", "X may be Y", "true",
         "A story is true.", "A story is true."),
        ("HasProperty", "bananas", "X are Y", "curved",
         "Bananas are curved.", "Bananas are curved."),
        ("HasProperty", "a story", "X is Y", "red .", "A story is red.", "A story is red."),
        ("ReceivesAction", "food", "X can be Y", "stored in a can",
         "Food is stored in a can.", "Food is stored in a can."),
        ("ReceivesAction", "cats", "X can be Y", "seen at war",
         "Cats is seen at war.", "Cats are seen at war."),
        ("HasA", "a car", "X has Y", "four wheels", "A car has four wheels.",
         "A car has four wheels."),
        ("HasA", "cars", "X has Y", "an engine", "Cars has an engine.", "Cars have an engine."),
        ("Causes", "war", "Sometimes X causes Y", "famine",
         "Sometimes war causes famine.", "Sometimes war causes famine."),
        ("Causes", "war", "The effect of X is Y", "famine",
         "The effect of war is famine.", "The effect of war is famine."),
        ("HasSubevent", "sleeping", "Something that might happen as a consequence of X is Y",
         "you dream", "Something that might happen as a consequence of sleeping is you dream.",
         "Something that might happen as a consequence of sleeping is that you dream."),
        ("HasA", "a star", "X can have Y", "a sun", "A star can have a sun.",
         "A star has a sun."),
        ("CapableOf", "a dog", "X can Y", "often bark", "A dog often barks.",
         "A dog often barks."),
        ("UsedFor", "a opinion", "*X is for Y", "the people", "A opinion is for the people.",
         "An opinion is for the people."),
    ],
)  # fmt: skip
def test_a_sentence_follows_its_frame_and_rules(relation, start, frame, end, paper, clean):
    assert sentence_of(relation, start, frame, end, rules="paper", templates=False) == paper
    assert sentence_of(relation, start, frame, end) == clean


@pytest.mark.parametrize(
    ("relation", "start", "frame", "end", "reason"),
    [
        ("CapableOf", "a dog", "X can Y", "music", "predicate does not begin with a verb"),
        ("CapableOf", "a dog", "X can not Y", "bark", "negated"),
        ("CapableOf", "a dog", "X can Y", "bark at no cat", "negated"),
        ("HasProperty", "a dog", "X isn't Y", "big", "negated"),
        ("CapableOf", "a hot dog", "X can Y", "win", "subject is not one word"),
        ("CapableOf", "a dog", "X can Y", "make nasty music", "explicit"),
        ("CapableOf", "a dog", "X can Y", "make http://music", "unreadable"),
        ("CapableOf", "a dog", "X can Y", "make música", "unreadable"),
        ("CapableOf", "a dog", "X can Y", "make music music", "a word twice in a row"),
        ("CapableOf", "a dog", "X can Y", "make " + 20 * "music and ", "long"),
        ("CapableOf", "a dog", "X can Y", ".", "no predicate"),
        ("CapableOf", "a dogs", "X can Y", "bark", "article before a plural"),
        ("CapableOf", "many dog", "X can Y", "bark", "plural determiner before a singular"),
        ("UsedFor", "a dog", "You can use X to Y", "music", "predicate does not begin with a verb"),
        ("UsedFor", "a can", "X is for Y", "used in war", "predicate does not fit its frame"),
        ("HasA", "a can", "X has Y", "broken in war", "predicate does not fit its frame"),
        ("HasSubevent", "a war", "Something that might happen while X is Y", "you win",
         "subject does not fit its frame"),
        ("HasA", "a car", "X has Y", "engine", "predicate does not fit its frame"),
        ("HasProperty", "a story", "X is Y", "engine", "predicate does not fit its frame"),
        ("ReceivesAction", "a story", "X can be Y", "tell", "predicate does not fit its frame"),
    ],
)  # fmt: skip
def test_unfit_edges_are_dropped_with_a_reason(relation, start, frame, end, reason):
    with pytest.raises(Unfit, match=f"^{reason}$"):
        sentence_of(relation, start, frame, end)


@pytest.mark.parametrize("end", ["used cars", "rest in war", "useful cars in war"])
def test_nouns_after_for_may_begin_like_verb_forms(end):
    assert sentence_of("UsedFor", "a can", "X is for Y", end) == f"A can is for {end}."


def test_edges_that_are_negated_or_lack_surface_text_are_dropped():
    with pytest.raises(Unfit, match="negated"):
        statement(Edge("HasA", "dog", "heart", None, weight=-1.0), WORDS)
    with pytest.raises(Unfit, match="no surface text"):
        statement(Edge("HasA", "dog", "heart", None), WORDS, rules="paper", templates=False)
    with pytest.raises(Unfit, match="without two arguments"):
        statement(Edge("HasA", "dog", "heart", "[[a dog]] has a heart"), WORDS)


def test_the_second_argument_may_be_the_subject():
    edge = Edge("HasA", "a story", "a heart", "*[[a heart]] is in [[a story]]")
    heart = statement(edge, WORDS)
    assert (heart.sentence, heart.noun) == ("A heart is in a story.", "story")


def test_a_noun_is_a_lemma_and_its_form_that_of_the_sentence():
    has_heart = statement(Edge("HasA", "Dogs", "a heart", "[[Dogs]] have [[a heart]]"), WORDS)
    assert (has_heart.noun, has_heart.form, has_heart.path) == ("dog", "dogs", "surface_text")
    has_heart = statement(Edge("HasA", "jeans", "a heart", "[[jeans]] have [[a heart]]"), WORDS)
    assert (has_heart.noun, has_heart.form) == ("jeans", "jeans")


@pytest.mark.parametrize(
    ("relation", "start", "end", "sentence"),
    [
        ("CapableOf", "candidate", "win election", "A candidate wins an election."),
        ("CapableOf", "dog", "bark", "A dog barks."),
        ("CapableOf", "dog", "come election", None),
        ("CapableOf", "dog", "music bark", None),
        ("HasProperty", "star", "huge", "A star is huge."),
        ("HasProperty", "gasoline", "very useful", "Gasoline is very useful."),
        ("HasProperty", "star", "sun", None),
        ("ReceivesAction", "story", "tell", "A story is told."),
        ("ReceivesAction", "story", "come", None),
        ("ReceivesAction", "food", "store can", None),
        ("HasA", "dog", "four wheel", "A dog has four wheels."),
        ("HasA", "dog", "many friend", "A dog has many friends."),
        ("HasA", "person", "big heart", "A person has a big heart."),
        ("HasA", "person", "diamond ring", "A person has a diamond ring."),
        ("HasA", "person", "ring diamond", None),
        ("HasA", "dog", "cold", None),
        ("UsedFor", "balalaika", "make music", "A balalaika is used to make music."),
        ("UsedFor", "balalaika", "making_music", "A balalaika is used for making music."),
        ("UsedFor", "wheel", "store", "A wheel is used for storing."),
        ("UsedFor", "wheel", "food", "A wheel is used for food."),
        ("UsedFor", "jeans", "wear", "Jeans are used for wearing."),
        ("Causes", "war", "famine", "Sometimes war causes a famine."),
        ("HasSubevent", "war", "win election",
         "Something that might happen as a consequence of war is winning an election."),
    ],
)  # fmt: skip
def test_labels_give_a_sentence_without_surface_text(relation, start, end, sentence):
    edge = Edge(relation, start, end)
    if sentence is None:
        with pytest.raises(Unfit, match="labels give no sentence"):
            statement(edge, WORDS)
        return
    from_labels = statement(edge, WORDS)
    assert (from_labels.sentence, from_labels.path) == (sentence, "template")
    assert from_labels.predicate == end.replace("_", " ")


def test_frames_of_one_predicate_share_a_gist():
    edges = [
        Edge("UsedFor", "a balalaika", "", "You can use [[a balalaika]] to [[make music]]"),
        Edge("UsedFor", "a balalaika", "", "[[a balalaika]] is for [[making the music]]"),
        Edge("UsedFor", "balalaika", "make music"),
    ]
    assert {gist(statement(edge, WORDS)) for edge in edges} == {"make music"}
    assert len({gist(statement(edge, WORDS), "paper") for edge in edges}) == 3
