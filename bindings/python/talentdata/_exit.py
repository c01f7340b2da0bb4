"""Lets threads that bring a response leave Python before the interpreter shuts down."""

import atexit
import time

from ._talentdata import end_visits


def _wait() -> None:
    # A child forked during a visit never sees it end, hence the bound.
    for _ in range(1000):
        if end_visits() == 0:
            return
        time.sleep(0.001)


atexit.register(_wait)
