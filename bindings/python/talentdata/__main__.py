"""The command line: `talentdata` or `python -m talentdata`. It is the same program as the one built from Rust."""

from __future__ import annotations

import signal
import sys

from ._talentdata import run_command_line


def main() -> int:
    """Runs `talentdata` with the arguments of this process; returns the exit code."""
    # The program handles Ctrl-C itself. Python's handler would add a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run_command_line(["talentdata", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
