"""Runs jobs and iterators, and shows their progress: a line on a terminal or in a notebook, or a function of the caller."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Generic, Protocol, TypeVar, cast

from ._talentdata import RawJob, RawRecord, RawScan, Record, Records
from ._warning import warn

R = TypeVar("R", bound=Record)

#: True or False, None to show progress if a user can see it, or a function that receives the number of records and the
#: service's total.
Wanted = bool | Callable[[int, int | None], object] | None

#: The interval, in seconds, between updates of a line on a terminal or in a notebook, and in a log file.
UPDATE_INTERVAL, LOG_INTERVAL = 0.1, 10.0

#: The length of the bar on a terminal.
BAR = 20


class Work(Protocol):
    """The progress of a scan, an export or a sync."""

    def progress(self) -> tuple[int, int | None]:
        """Returns the number of records so far, and the service's total if it is known."""


class View(Protocol):
    """A place to show progress."""

    interval: float
    """The minimum time between two updates, in seconds."""

    def show(self, text: str, done: float | None) -> None:
        """Shows the progress as text, and the completed share, if it is known."""

    def end(self, text: str) -> None:
        """Shows the outcome."""


class Terminal:
    """A line of standard error. On a terminal, each update replaces it."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self.interval = UPDATE_INTERVAL if self._is_terminal else LOG_INTERVAL

    def show(self, text: str, done: float | None) -> None:
        name, _, rest = text.partition(": ")
        if done is not None:
            full = round(done * BAR)
            rest = f"[{'#' * full}{' ' * (BAR - full)}] {rest}"
        self._write(f"{name}: {rest}", "" if self._is_terminal else "\n")

    def end(self, text: str) -> None:
        self._write(text, "\n")

    def _write(self, text: str, end: str) -> None:
        # A closed terminal does not stop the work.
        with suppress(OSError, ValueError):
            if self._is_terminal:
                text = f"\r\x1b[K{text[: _columns() - 1]}"
            sys.stderr.write(text + end)
            sys.stderr.flush()


def _columns() -> int:
    """Returns the width of the terminal."""
    try:
        # The size of a terminal is 0 if it is unknown.
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


class Notebook:
    """An output of a notebook's cell, which each update replaces. It needs no widgets."""

    interval = 2 * UPDATE_INTERVAL

    def __init__(self) -> None:
        self._output: Any = None

    def show(self, text: str, done: float | None) -> None:
        bar = "" if done is None else f'<progress value="{done:.3f}" max="1"></progress> '
        self._put({"text/plain": text, "text/html": bar + text})

    def end(self, text: str) -> None:
        self._put({"text/plain": text})

    def _put(self, data: dict[str, str]) -> None:
        from IPython.display import display

        if self._output is None:
            self._output = display(data, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._output.update(data, raw=True)


class Bar:
    """A display of the progress of a scan, an export or a sync. Call it after each page, and close it at the end."""

    __slots__ = ("_began", "_first", "_is_open", "_name", "_shown", "_view", "_work")

    def __init__(self, work: Work, name: str, view: View) -> None:
        self._work, self._name, self._view = work, name, view
        self._began = self._shown = time.monotonic()
        # A continued scan already has records.
        self._first, total = work.progress()
        self._is_open = True
        view.show(*self._state(self._first, total))

    def __call__(self) -> None:
        now = time.monotonic()
        if self._is_open and now >= self._shown + self._view.interval:
            self._shown = now
            self._view.show(*self._state(*self._work.progress()))

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            (records, total), seconds = self._work.progress(), time.monotonic() - self._began
            has_begun = records > 0 or total is not None
            self._view.end(
                f"{self._name}: {f'{records:,} records in {seconds:.1f} s' if has_begun else 'nothing was read'}"
            )

    # A loop that ends by `break` drops its iterator and this object.
    def __del__(self) -> None:
        with suppress(Exception):
            self.close()

    def _state(self, records: int, total: int | None) -> tuple[str, float | None]:
        if not records and total is None:
            return f"{self._name}: connecting to the service", None
        rate = (records - self._first) / max(time.monotonic() - self._began, 1e-9)
        # A total below the number of records is wrong.
        if total is None or total < records:
            return f"{self._name}: {records:,} records, {rate:,.0f}/s", None
        left = f", {(total - records) / rate:,.0f} s left" if rate else ""
        done = records / total if total else None
        return f"{self._name}: {records:,} of {total:,} records, {rate:,.0f}/s{left}", done


class Reported:
    """Passes the progress of a scan, an export or a sync to a function of the caller after each page."""

    __slots__ = ("_last", "_report", "_work")

    def __init__(self, work: Work, report: Callable[[int, int | None], object]) -> None:
        self._work, self._report = work, report
        self._last: tuple[int, int | None] = (0, None)

    def __call__(self) -> None:
        now = self._work.progress()
        if now != self._last:
            self._last = now
            self._report(*now)

    def close(self) -> None:
        pass


@contextmanager
def follow(work: Work, name: str, wanted: Wanted) -> Iterator[Callable[[], object]]:
    """Shows progress if it is wanted. Yields a function to call after each page."""
    bar = start(work, name, wanted)
    if bar is None:
        yield lambda: None
        return
    try:
        yield bar
    finally:
        bar.close()


def run_blocking(job: RawJob, name: str, wanted: Wanted) -> RawRecord:
    """Runs an export or a sync of a list, and shows its progress."""
    with follow(job, name, wanted) as on_progress:
        receipt = job.run(on_progress)
        on_progress()
    return cast(RawRecord, receipt)


async def run_async(job: RawJob, name: str, wanted: Wanted) -> RawRecord:
    """Runs an export or a sync of a list for asyncio, and shows its progress."""
    # The caller imports asyncio anyway, and applications without it must not load it.
    import asyncio

    with follow(job, name, wanted) as on_progress:
        task = asyncio.ensure_future(cast(Awaitable[RawRecord], job.run(on_progress)))
        try:
            while not task.done():
                await asyncio.wait([task], timeout=UPDATE_INTERVAL)
                on_progress()
        except asyncio.CancelledError as cancelled:
            task.cancel()
            job.explain(cancelled)
            raise
        finally:
            task.cancel()
        on_progress()
    return task.result()


def iterate_blocking(scan: RawScan, model: type[R], bar: Bar | Reported | None) -> Iterator[R]:
    """Returns an iterator over the records of a scan."""
    return scan.records(model, bar)


def iterate_async(scan: RawScan, model: type[R], bar: Bar | Reported | None) -> AsyncIterator[R]:
    """Returns an iterator over the records of a scan for `async for`."""
    return AsyncRecords(scan.records(model, None), bar)


class AsyncRecords(Generic[R]):
    """An asynchronous iterator over the records of a scan.

    After a cancellation, this iterator continues with the next record. A generator could not, because an exception ends
    it.
    """

    __slots__ = ("_bar", "_records")

    def __init__(self, records: Records[R], bar: Bar | Reported | None) -> None:
        self._records = records
        self._bar = bar

    def __aiter__(self) -> AsyncRecords[R]:
        return self

    async def __anext__(self) -> R:
        while True:
            # The inner iterator ends when it would have to wait. A loop is used instead of `next`, because Ctrl-C
            # cannot interrupt between the loop and its `return`, so that no record is lost.
            for record in self._records:
                return record
            more = await self._records.wait_for_more()
            if self._bar is not None:
                self._bar()
            if not more:
                if self._bar is not None:
                    self._bar.close()
                warn(self._records.take_warning())
                raise StopAsyncIteration


def start(work: Work, name: str, wanted: Wanted) -> Bar | Reported | None:
    """Returns the display of progress if it is wanted, or if `wanted` is None and the user can see it."""
    if callable(wanted):
        return Reported(work, wanted)
    # The attribute of the package is read each time, because users can set it at any time.
    is_off = not getattr(sys.modules["talentdata"], "progress", True) or os.environ.get("TALENTDATA_PROGRESS") == "0"
    if wanted is False or is_off:
        return None
    if in_notebook():
        return Bar(work, name, Notebook())
    if sys.stderr is None or wanted is None and not sys.stderr.isatty():
        return None
    return Bar(work, name, Terminal())


def in_notebook() -> bool:
    """Returns whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None
