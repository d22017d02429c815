"""An interrupt outside `conf.run`, as during the imports of a script, ends it with one line."""

import os
import sys
from types import TracebackType

# As shells report a process that SIGINT has ended.
INTERRUPTED_CODE = 130
INTERRUPTED = "interrupted; run the same command again to continue"
_ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
_FOLDERS = tuple(os.path.join(_ROOT, name, "") for name in ("analysis", "conf", "etl", "training"))
_previous_hook = sys.excepthook


def _is_command() -> bool:
    """Whether a script of this project runs, not a session or script that imports it."""
    file = getattr(sys.modules["__main__"], "__file__", None)
    if file is None:
        return sys.argv[:1] == ["-m"]  # the package of `python -m PACKAGE` is being imported
    path = os.path.realpath(file)
    is_console_script = os.path.basename(path) in ("adnominal", "adnominal.exe")
    is_package = path.endswith(os.path.join("adnominal", "__main__.py"))
    return path.startswith(_FOLDERS) or is_console_script or is_package


def _hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, KeyboardInterrupt) or not _is_command():
        _previous_hook(kind, error, trace)
        return
    if os.environ.get("RANK", "0") == "0":  # of the processes of a launcher, the first reports it
        print(f"error: {INTERRUPTED}", file=sys.stderr, flush=True)
    raise SystemExit(INTERRUPTED_CODE)  # otherwise the interpreter would end as if by the signal


sys.excepthook = _hook
