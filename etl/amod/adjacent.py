"""Count a list of pairs as neighbouring words in running text, without a parser.

A word is a run of letters and digits (`str.isalnum`), and hyphens (``-``, U+2010, U+2011) between
two of them: "key-ring" is one word, "key's" are two. Two words are neighbours if only white space
without a line break separates them: a line is a paragraph. A pair (first, second) is counted once
for each place where they are neighbours in this order, so no match lies inside a word or crosses a
comma or the end of a sentence. With `lowercase`, each letter is compared by the first character of
its `str.lower`.

`count_words` defines the counts in Python; the compiled counter gives the same counts.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import pyarrow as pa

from adnominal.conf import UserError
from adnominal.etl.amod.kernel import compiled

MAX_WORD_BYTES = 255
_HYPHENS = "-\u2010\u2011"
_LINE_BREAKS = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")


def words(text: str, lowercase: bool = True) -> Iterator[tuple[str, bool]]:
    """Each word, and whether it is a neighbour of the previous one."""
    position, is_neighbour = 0, False
    while position < len(text):
        end = position
        while end < len(text) and (
            text[end].isalnum()
            or (end > position and text[end] in _HYPHENS and text[end + 1 : end + 2].isalnum())
        ):
            end += 1
        if end > position:
            word = "".join("-" if c in _HYPHENS else c for c in text[position:end])
            yield ("".join(c.lower()[0] for c in word) if lowercase else word), is_neighbour
            position, is_neighbour = end, True
            continue
        is_neighbour = (
            is_neighbour and text[position].isspace() and text[position] not in _LINE_BREAKS
        )
        position += 1


def count_words(
    text: str, pairs: Sequence[tuple[str, str]], lowercase: bool = True
) -> Counter[tuple[str, str]]:
    """How often each of `pairs` occurs in `text`; with `lowercase`, pass them in lower case."""
    listed = set(pairs)
    counts: Counter[tuple[str, str]] = Counter()
    previous = ""
    for word, near in words(text, lowercase):
        if near and (previous, word) in listed:
            counts[previous, word] += 1
        previous = word
    return counts


def check_words(pairs: Sequence[tuple[str, str]], lowercase: bool) -> None:
    """Raise `UserError` for a member of a pair that is not one word."""
    for pair in pairs:
        for word in pair:
            words_read = [read for read, _ in words(word, lowercase)]
            if words_read != [word] or len(word.encode()) > MAX_WORD_BYTES:
                raise UserError(
                    f"pairs=: {word!r} of the pair {' '.join(pair)!r} is not one word; "
                    "adjacent=true counts pairs of single words (letters, digits and inner hyphens)"
                )


class AdjacentCounter:
    """Counts `pairs` in the texts fed, in memory that depends only on the list."""

    def __init__(
        self, pairs: Sequence[tuple[str, str]], lowercase: bool = True, implementation: str = "auto"
    ) -> None:
        """`implementation` is "compiled", "reference" or "auto" (compiled if it was built)."""
        self._pairs = list(pairs)
        self._lowercase = lowercase
        module = None if implementation == "reference" else compiled("_adjacent")
        self.implementation = "reference" if module is None else "compiled"
        self._counts: Counter[tuple[str, str]] = Counter()
        first, second = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        self._compiled = module.Counter(first, second, lowercase) if module else None

    def feed(self, text: str) -> None:
        """Count the pairs of a text with one paragraph per line."""
        if self._compiled is None:
            self._counts += count_words(text, self._pairs, self._lowercase)
        else:
            self._compiled.feed(text)

    def feed_texts(self, texts: pa.StringArray) -> list[int]:
        """Count texts directly if the documents made of them would give the same counts.

        Returns the rows of the other texts, which must become documents first
        (`etl.corpora.text.text_events`).
        """
        _, offsets, data = texts.buffers()
        if self._compiled is None or not len(texts) or data is None:
            return list(range(len(texts)))
        return list(self._compiled.feed_texts(offsets, data, texts.offset, len(texts)))

    def counts(self) -> list[int]:
        """The counts so far, in the order of the list."""
        if self._compiled is None:
            return [self._counts[pair] for pair in self._pairs]
        return list(self._compiled.counts())
