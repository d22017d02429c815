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
    with DelayedOpening(log, "settings", unless=(UserError,)):
        assert caplog.messages == []
        log.info("wave 1")
        log.info("wave 2")
    assert caplog.messages == ["settings", "wave 1", "wave 2"]


def test_the_message_comes_at_the_end_of_a_silent_block(caplog):
    with DelayedOpening(log, "settings", unless=(UserError,)):
        pass
    with pytest.raises(ZeroDivisionError), DelayedOpening(log, "more", unless=(UserError,)):
        raise ZeroDivisionError
    with DelayedOpening(log, "", unless=(UserError,)):
        log.info("done")
    assert caplog.messages == ["settings", "more", "done"]


def test_a_mistake_stands_alone(caplog):
    with pytest.raises(UserError), DelayedOpening(log, "settings", unless=(UserError,)):
        raise UserError("got this")
    assert caplog.messages == []
    with pytest.raises(UserError), DelayedOpening(log, "settings", unless=(UserError,)):
        log.info("wave 1")
        raise UserError("got this")
    log.info("another job")
    assert caplog.messages == ["settings", "wave 1", "another job"]


def test_opening_messages_wait_for_the_first_other_one(caplog):
    with DelayedOpening(log, "settings", unless=(UserError,)):
        log.info("engine: sail", extra=OPENING)
        assert caplog.messages == []
        log.info("wave 1")
        log.info("parser", extra=OPENING)
    assert caplog.messages == ["settings", "engine: sail", "wave 1", "parser"]
    caplog.clear()
    with pytest.raises(UserError), DelayedOpening(log, "settings", unless=(UserError,)):
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
