"""What a command prints at its start: its settings, or its most common uses."""

import logging
from types import TracebackType

OPENING = {"opening": True}
"""``extra=`` of a message about what a job is about to do, such as its engine."""


class DelayedOpening(logging.Filter):
    """Hold back the opening messages of a job until it logs that it works.

    These are a first text and the messages that are logged with ``extra=OPENING`` in a ``with``
    block. If nothing else is logged in it, they are dropped: what a job prints, or the line that
    explains a mistake, stands alone on the screen. An unexpected exception is logged after them.
    """

    def __init__(
        self, log: logging.Logger, text: str, expected: tuple[type[Exception], ...]
    ) -> None:
        super().__init__()
        self._log = log
        self._expected = expected
        self._held: list[logging.LogRecord] = []
        if text:
            fields = (log.name, logging.INFO, __file__, 0, "%s", (text,), None)
            self._held.append(log.makeRecord(*fields))

    def filter(self, record: logging.LogRecord) -> bool:
        """Hold an opening message back; before any other, log those that were held back."""
        if getattr(record, "opening", False):
            self._held.append(record)
            return False
        self._emit()
        return True

    def _emit(self) -> None:
        self._log.removeFilter(self)
        held, self._held = self._held, []
        for record in held:
            if self._log.isEnabledFor(record.levelno):
                self._log.handle(record)

    def __enter__(self) -> "DelayedOpening":
        self._log.addFilter(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None or isinstance(error, self._expected):
            self._held.clear()
        self._emit()


def common_commands(cls: type) -> str:
    """The most common commands of a job that its settings list in ``COMMON``, or an empty text.

    They are shown to those who start the job without any settings.
    """
    commands: dict[str, str] = getattr(cls, "COMMON", {})
    if not commands:
        return ""
    lines = ["got no settings; the most common commands are (--help lists every setting):"]
    for command, meaning in commands.items():
        lines += [f"  {command}", f"      {meaning}"]
    return "\n".join(lines)
