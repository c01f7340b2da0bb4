"""Lets threads that bring a response leave Python before it shuts down, and closed clients leave their budgets."""

import atexit
import time

from ._talentdata import end_work


def _wait() -> None:
    # A child forked while a thread did so never sees it end, hence the bound.
    for _ in range(1000):
        if end_work() == 0:
            return
        time.sleep(0.001)


atexit.register(_wait)
