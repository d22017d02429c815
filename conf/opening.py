"""What a command prints at its start: its settings, or its most common uses."""

import logging
from types import TracebackType


class DelayedMessage(logging.Filter):
    """A message that is logged before the next one, or at the end of a ``with`` block.

    If the block raises one of `unless` before anything else is logged, the message is dropped: the
    line that explains a mistake stands alone on the screen.
    """

    def __init__(self, log: logging.Logger, text: str, unless: tuple[type[Exception], ...]) -> None:
        super().__init__()
        self._log = log
        self._text = text
        self._unless = unless

    def filter(self, record: logging.LogRecord) -> bool:
        """Log the message if it was not logged yet, and let `record` pass."""
        self._emit()
        return True

    def _emit(self) -> None:
        self._log.removeFilter(self)
        text, self._text = self._text, ""
        if text:
            self._log.info("%s", text)

    def __enter__(self) -> "DelayedMessage":
        self._log.addFilter(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, self._unless):
            self._text = ""
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
