"""Ten tasks of a lexicographer, done in a browser with as few actions as the page allows.

An action is a field filled, a choice, a click, or the Enter key. The explorer of November 2026, in
which a form had to be sent for each change, needed the numbers in the comments.
"""

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Page, expect

from tests.analysis.exploring.test_browser import browser, page, served

__all__ = ["browser", "page", "served"]


class Hands:
    """What a person does on a page; `actions` counts it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.actions = 0

    def fill(self, label: str, text: str) -> None:
        self.actions += 1
        self.page.get_by_label(label, exact=True).fill(text)

    def press_enter(self, label: str = "Word") -> None:
        self.actions += 1
        self.page.get_by_label(label, exact=True).press("Enter")

    def choose(self, name: str, option: str) -> None:
        self.actions += 1
        self.page.locator(f"select[name={name}]").select_option(option)

    def open(self, summary: str) -> None:
        self.actions += 1
        self.page.locator("summary", has_text=summary).first.click()

    def check(self, label: str) -> None:
        self.actions += 1
        self.page.get_by_label(label).check()

    def click(self, role: Any, name: str) -> None:
        self.actions += 1
        self.page.get_by_role(role, name=name, exact=True).first.click()


def search(hands: Hands, word: str) -> None:
    hands.fill("Word", word)
    hands.press_enter()


def count_in_one_corpus(hands: Hands) -> None:
    hands.choose("corpus", "news")


def order_by_frequency(hands: Hands) -> None:
    hands.click("button", "count")


def leave_out_rare_pairs(hands: Hands) -> None:
    hands.fill("Minimum count", "5")
    hands.press_enter("Minimum count")


def find_the_nouns_of_an_adjective(hands: Hands) -> None:
    search(hands, "wooden")
    hands.click("link", "wooden is an adjective: show its nouns")


def find_a_plural(hands: Hands) -> None:
    search(hands, "doors")
    hands.click("link", "doors is a form of door")


def open_a_pair_as_it_stands_in_a_text(hands: Hands) -> None:
    search(hands, "old keys")
    hands.click("link", "old key is an adjective and a noun: show the pair")


def compare_with_a_word(hands: Hands) -> None:
    hands.open("Compare")
    hands.fill("Second word", "door")
    hands.press_enter("Second word")


def align_the_sentences_of_a_pair(hands: Hands) -> None:
    hands.click("link", "false")
    hands.check("Key words in context")


def find_words_used_alike(hands: Hands) -> None:
    hands.click("link", "Nouns with similar collocates")


def see_the_strongest_adjectives(hands: Hands) -> None:
    search(hands, "key")


# The task, where it begins, its actions now, the heading it ends at, and a row or sentence there.
TASKS = [
    (see_the_strongest_adjectives, "", 2, "Adjectives of “key”", "public"),  # 2
    (count_in_one_corpus, "#word=key", 1, "Adjectives of “key”", "3 of 3 adjectives"),  # 2
    (order_by_frequency, "#word=key&corpus=news", 1, "Adjectives of “key”", "by count"),  # 2
    (leave_out_rare_pairs, "#word=key", 2, "Adjectives of “key”", "2 of 2 adjectives"),  # 2
    (find_the_nouns_of_an_adjective, "", 3, "Nouns of “wooden”", "door"),  # 4
    (find_a_plural, "", 3, "Adjectives of “door”", "wooden"),  # 3
    (open_a_pair_as_it_stands_in_a_text, "", 3, "old key", "old"),  # 5
    (compare_with_a_word, "#word=key", 3, "“key” compared with “door”", "wooden"),  # 3
    (align_the_sentences_of_a_pair, "#word=key", 2, "false key", "A false key."),  # not possible
    (find_words_used_alike, "#word=key", 1, "Nouns similar to “key”", "door"),  # not possible
]


@pytest.mark.parametrize(("task", "start", "actions", "heading", "found"), TASKS)
def test_a_task_takes_few_actions(
    page: Page,
    served: str,
    task: Callable[[Hands], None],
    start: str,
    actions: int,
    heading: str,
    found: str,
) -> None:
    page.goto(served + start)
    page.wait_for_selector("select[name=corpus] option[value=news]", state="attached")
    page.wait_for_selector("#result[aria-busy=false] > *")
    hands = Hands(page)
    task(hands)
    expect(page.locator("#result h2")).to_contain_text(heading)
    expect(page.locator("#result")).to_contain_text(found)
    assert hands.actions == actions
