"""Entry point: ``adnominal report query "SELECT …" out=report`` (``--help`` lists all)."""

import re
import sys
from collections.abc import Sequence

from adnominal import conf
from adnominal.analysis.querying import USAGE, Settings, query
from adnominal.conf import UserError
from adnominal.conf.output import output_may_be_closed

_SETTING = re.compile(r"--|[a-z_]+=")


@output_may_be_closed()
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if any(word in ("--help", "-h") for word in arguments):
        print(conf.help_text(Settings, USAGE), end="")
        return 0

    def run() -> None:
        # The question is the one word that is no setting; it may have equals signs of its own.
        settings: list[str] = []
        questions: list[str] = []
        for word in arguments:
            is_value = settings[-1:] == ["--out"]
            if is_value or _SETTING.match(word):
                settings.append(word)
            else:
                questions.append(word)
        loaded = conf.load(Settings, settings)
        if len(questions) != 1:
            raise UserError(f"got {len(questions)} questions; expected: {USAGE}")
        print(query(questions[0], loaded))

    return conf.exit_code(run)


if __name__ == "__main__":
    sys.exit(main())
