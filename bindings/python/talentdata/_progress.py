"""A progress bar, by tqdm where it is installed."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from ._needs import need

T = TypeVar("T")

#: How often a bar moves while one call does all the work, in seconds.
EVERY = 0.1


class Work(Protocol):
    """A scan or an export."""

    def progress(self) -> tuple[int, int | None]:
        """Records so far, and the service's total where it is known."""


class Bar:
    """A progress bar of a scan or an export: called after each page, closed at the end, or when it is forgotten."""

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
    """Shows the progress; yields what is to be called after each page."""
    bar = start(work, name, wanted)
    if bar is None:
        yield lambda: None
        return
    try:
        yield bar
    finally:
        bar.close()


async def told(work: Awaitable[T], tell: Callable[[], object]) -> T:
    """Awaits the work, and tells meanwhile how far it is."""
    # Whoever is here has imported it; the package does without.
    import asyncio

    task = asyncio.ensure_future(work)
    try:
        while not task.done():
            await asyncio.wait([task], timeout=EVERY)
            tell()
    finally:
        task.cancel()
    return task.result()


def start(work: Work, name: str, wanted: bool | None) -> Bar | None:
    """A bar, where one is wanted and can be seen."""
    notebook = in_notebook()
    if wanted is False or wanted is None and not (notebook or sys.stderr is not None and sys.stderr.isatty()):
        return None
    try:
        tqdm = need("tqdm.auto", "a progress bar") if not notebook or widgets() else need("tqdm", "a progress bar")
    except ImportError:
        if wanted:
            raise
        return None
    records, total = work.progress()
    return Bar(work, tqdm.tqdm(desc=name, unit=" records", initial=records, total=total))


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def widgets() -> bool:
    """Whether the notebook can show the bar that tqdm prefers there; else it would only warn."""
    try:
        need("ipywidgets", "a progress bar")
    except ImportError:
        return False
    return True
