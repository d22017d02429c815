"""What a command prints at its start."""

import logging
from typing import ClassVar

import pytest

from adnominal.conf import UserError
from adnominal.conf.opening import OPENING, DelayedOpening, common_commands

log = logging.getLogger("adnominal")


@pytest.fixture(autouse=True)
def _all_messages(caplog):
    caplog.set_level(logging.INFO, "adnominal")


def test_the_message_comes_before_the_first_one_of_the_block(caplog):
    with DelayedOpening(log, "settings", expected=(UserError,)):
        assert caplog.messages == []
        log.info("wave 1")
        log.info("wave 2")
    assert caplog.messages == ["settings", "wave 1", "wave 2"]


def test_a_silent_block_has_no_messages(caplog):
    with DelayedOpening(log, "settings", expected=(UserError,)):
        log.info("engine: sail", extra=OPENING)
    assert caplog.messages == []


def test_an_unexpected_exception_comes_after_the_message(caplog):
    with pytest.raises(ZeroDivisionError), DelayedOpening(log, "more", expected=(UserError,)):
        raise ZeroDivisionError
    assert caplog.messages == ["more"]


def test_a_mistake_stands_alone(caplog):
    with pytest.raises(UserError), DelayedOpening(log, "settings", expected=(UserError,)):
        raise UserError("got this")
    assert caplog.messages == []
    with pytest.raises(UserError), DelayedOpening(log, "settings", expected=(UserError,)):
        log.info("wave 1")
        raise UserError("got this")
    log.info("another job")
    assert caplog.messages == ["settings", "wave 1", "another job"]


def test_opening_messages_wait_for_the_first_other_one(caplog):
    with DelayedOpening(log, "settings", expected=(UserError,)):
        log.info("engine: sail", extra=OPENING)
        assert caplog.messages == []
        log.info("wave 1")
        log.info("parser", extra=OPENING)
    assert caplog.messages == ["settings", "engine: sail", "wave 1", "parser"]
    caplog.clear()
    with pytest.raises(UserError), DelayedOpening(log, "settings", expected=(UserError,)):
        log.info("engine: sail", extra=OPENING)
        raise UserError("got this")
    assert caplog.messages == []
    log.info("engine: sail", extra=OPENING)
    assert caplog.messages == ["engine: sail"]


def test_common_commands_are_those_that_the_settings_list():
    class Settings:
        COMMON: ClassVar[dict[str, str]] = {"job x=1": "the first use", "job x=2": "the second"}

    lines = common_commands(Settings).splitlines()
    assert lines[1:] == ["  job x=1", "      the first use", "  job x=2", "      the second"]
    assert common_commands(int) == ""
