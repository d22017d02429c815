"""Licences and sources that several datasets name in their declarations."""

BY_SA_4 = ("cc-by-sa-4.0", "https://creativecommons.org/licenses/by-sa/4.0/")
APACHE_2 = ("apache-2.0", "https://www.apache.org/licenses/LICENSE-2.0")
UNKNOWN = (
    "unknown",
    None,
    ("The release states no licence: ask its authors before you pass this on.",),
)

PAIRS = "Counts of adjective-noun pairs of Wikipedia or a web corpus (no running text)."
WORDNET = "WordNet 3.0, Princeton University (WordNet licence: copies must include the notice)."
CONCEPTNET = "ConceptNet (CC BY-SA 4.0, https://conceptnet.io): predicates and their surface text."
