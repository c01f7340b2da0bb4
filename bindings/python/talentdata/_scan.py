"""Every record of a list, read a page at a time while you go."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Generic, TypeVar

from ._progress import follow
from ._receipt import Receipt
from ._talentdata import RawScan, Record

R = TypeVar("R", bound=Record)


class Scan(Generic[R]):
    """All records of a list: iterate over it once. `client.contacts.list()` makes one.

    Pages are fetched ahead, in parallel, at the rate that the service allows. Whoever stops iterating may
    go on later with another `for`; Ctrl-C loses no record. Leaving a `with` block, or `close`, stops the requests.
    """

    __slots__ = ("_current", "_model", "_name", "_progress", "_scan")

    def __init__(self, scan: RawScan, name: str, model: type[R], progress: bool | None) -> None:
        self._scan = scan
        self._name = name
        self._model = model
        self._progress = progress
        self._current: Iterator[R] = iter(())

    def __iter__(self) -> Iterator[R]:
        with follow(self._scan, self._name, self._progress) as tell:
            while True:
                yield from self._current
                if not self._scan.fill(False):
                    return
                self._current = map(self._model, self._scan.take())
                tell()

    @property
    def receipt(self) -> Receipt:
        """What has been done so far; final once the scan has ended."""
        return Receipt(self._scan.receipt())

    def close(self) -> None:
        """Stops all requests of the scan."""
        self._scan.close()
        self._current = iter(())

    def __enter__(self) -> Scan[R]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<scan of {self._name}: {self._scan.progress()[0]} records so far>"


class AsyncScan(Generic[R]):
    """All records of a list, for `async for`; see `Scan`."""

    __slots__ = ("_current", "_model", "_name", "_progress", "_scan")

    def __init__(self, scan: RawScan, name: str, model: type[R], progress: bool | None) -> None:
        self._scan = scan
        self._name = name
        self._model = model
        self._progress = progress
        self._current: Iterator[R] = iter(())

    async def __aiter__(self) -> AsyncIterator[R]:
        with follow(self._scan, self._name, self._progress) as tell:
            while True:
                for record in self._current:
                    yield record
                if not await self._scan.fill(True):
                    return
                self._current = map(self._model, self._scan.take())
                tell()

    @property
    def receipt(self) -> Receipt:
        """What has been done so far; final once the scan has ended."""
        return Receipt(self._scan.receipt())

    async def close(self) -> None:
        """Stops all requests of the scan."""
        self._scan.close()
        self._current = iter(())

    async def __aenter__(self) -> AsyncScan[R]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<scan of {self._name}: {self._scan.progress()[0]} records so far>"
