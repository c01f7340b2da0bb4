"""Runs jobs and iterators, with a progress bar if tqdm is installed."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar, cast

from ._optional import need
from ._talentdata import RawJob, RawRecord, RawScan, Record, Records
from ._warning import warn

R = TypeVar("R", bound=Record)

#: The interval, in seconds, between updates of a bar while a job runs.
UPDATE_INTERVAL = 0.1


class Work(Protocol):
    """The progress of a scan, an export or a sync."""

    def progress(self) -> tuple[int, int | None]:
        """Returns the number of records so far, and the service's total if it is known."""


class Bar:
    """A progress bar. Call it after each page, and close it at the end."""

    __slots__ = ("_bar", "_work")

    def __init__(self, work: Work, bar: Any) -> None:
        self._work = work
        self._bar = bar

    def __call__(self) -> None:
        records, total = self._work.progress()
        self._bar.total = total
        self._bar.update(records - self._bar.n)

    def close(self) -> None:
        self._bar.close()


@contextmanager
def follow(work: Work, name: str, wanted: bool | None) -> Iterator[Callable[[], object]]:
    """Shows a progress bar if it is wanted. Yields a function to call after each page."""
    bar = start(work, name, wanted)
    if bar is None:
        yield lambda: None
        return
    try:
        yield bar
    finally:
        bar.close()


def run_blocking(job: RawJob, name: str, wanted: bool | None) -> RawRecord:
    """Runs an export or a sync of a list, and shows its progress."""
    with follow(job, name, wanted) as on_progress:
        receipt = job.run(on_progress)
        on_progress()
    return cast(RawRecord, receipt)


async def run_async(job: RawJob, name: str, wanted: bool | None) -> RawRecord:
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


def iterate_blocking(scan: RawScan, model: type[R], bar: Bar | None) -> Iterator[R]:
    """Returns an iterator over the records of a scan."""
    return scan.records(model, bar)


def iterate_async(scan: RawScan, model: type[R], bar: Bar | None) -> AsyncIterator[R]:
    """Returns an iterator over the records of a scan for `async for`."""
    return AsyncRecords(scan.records(model, None), bar)


class AsyncRecords(Generic[R]):
    """An asynchronous iterator over the records of a scan.

    After a cancellation, this iterator continues with the next record. A generator could not, because an exception ends
    it.
    """

    __slots__ = ("_bar", "_records")

    def __init__(self, records: Records[R], bar: Bar | None) -> None:
        self._records = records
        self._bar = bar

    def __aiter__(self) -> AsyncRecords[R]:
        return self

    async def __anext__(self) -> R:
        while True:
            # The inner iterator ends when it would have to wait. A loop is used instead of `next`, because Ctrl-C cannot
            # interrupt between the loop and its `return`, so that no record is lost.
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


def start(work: Work, name: str, wanted: bool | None) -> Bar | None:
    """Returns a bar if it is wanted, or if `wanted` is None and the user can see it."""
    is_notebook = in_notebook()
    if wanted is False or wanted is None and not (is_notebook or sys.stderr is not None and sys.stderr.isatty()):
        return None
    # In a notebook without widgets, `tqdm.auto` would only print a warning.
    is_plain = is_notebook and importlib.util.find_spec("ipywidgets") is None
    try:
        tqdm = need("tqdm" if is_plain else "tqdm.auto", "a progress bar")
    except ImportError:
        if wanted:
            raise
        return None
    records, total = work.progress()
    return Bar(work, tqdm.tqdm(desc=name, unit=" records", initial=records, total=total))


def in_notebook() -> bool:
    """Returns whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None
