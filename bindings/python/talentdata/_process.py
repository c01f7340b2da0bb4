"""Handles the exit of the process, a fork, and Ctrl-C while a thread outside Python reads a stream."""

from __future__ import annotations

import atexit
import os
import signal
import threading
import time

from ._talentdata import Interrupts, end_work, note_main_thread

_interrupts: Interrupts | None = None


def _wait() -> None:
    # Threads that deliver a response leave Python, and closed clients leave their budgets. A child that was forked
    # during this time has no such thread, so its count never falls to 0. The number of rounds limits its wait.
    for _ in range(1000):
        if end_work() == 0:
            return
        time.sleep(0.001)


def interrupts() -> Interrupts | None:
    """Returns the object that reports Ctrl-C to threads that read a stream without Python.

    Returns None if Ctrl-C does not raise `KeyboardInterrupt` in this thread, or if the application has its own wakeup
    descriptor for signals.
    """
    global _interrupts
    current = threading.current_thread()
    if isinstance(current, threading._DummyThread):
        # A library calls this again, on its own thread.
        return _interrupts
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not usual or current is not threading.main_thread():
        return None
    mine = _interrupts or Interrupts()
    present = signal.set_wakeup_fd(mine.fileno(), warn_on_full_buffer=False)
    if present not in (-1, mine.fileno()):
        signal.set_wakeup_fd(present)
        return None
    _interrupts = mine
    mine.clear()
    return mine


def _after_fork() -> None:
    # The thread that forked is the main thread of the child, and the socket is the parent's.
    global _interrupts
    note_main_thread()
    if _interrupts is not None and threading.current_thread() is threading.main_thread():
        present = signal.set_wakeup_fd(-1)
        if present != _interrupts.fileno():
            signal.set_wakeup_fd(present)
    _interrupts = None


atexit.register(_wait)
os.register_at_fork(after_in_child=_after_fork)
