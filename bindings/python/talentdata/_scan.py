"""Every record of a list, read a page at a time while you go."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Generic, TypeVar

from . import _frames
from ._progress import follow, told
from ._receipt import Receipt
from ._talentdata import RawScan, Record, Table

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

R = TypeVar("R", bound=Record)
F = TypeVar("F")


class Scan(Generic[R]):
    """All records of a list: iterate over it once. `client.contacts.list()` makes one.

    Pages are fetched ahead, in parallel, at the rate that the service allows. Whoever stops iterating may
    go on later with another `for`; Ctrl-C loses no record. Leaving a `with` block, or `close`, stops the requests.

    Raises:
        talentdata.Error: A page could not be had; its `offset` says which. The scan has ended then.
        talentdata.ClosedError: The scan has ended, or was closed.

    >>> import talentdata
    >>> with talentdata.Sandbox(records={"contacts": 250}) as sandbox, sandbox.client() as client:
    ...     scan = client.contacts.list()
    ...     first = next(contact.email for contact in scan)
    ...     len([contact for contact in scan]), scan.receipt.records
    (249, 250)
    """

    __slots__ = ("_current", "_name", "_progress", "_scan")

    def __init__(self, scan: RawScan, name: str, model: type[R], progress: bool | None) -> None:
        self._scan = scan
        self._name = name
        self._progress = progress
        # Ends where more have to be waited for, and goes on behind it.
        self._current: Iterator[R] = map(model, scan)

    def __iter__(self) -> Iterator[R]:
        with follow(self._scan, self._name, self._progress) as tell:
            while True:
                yield from self._current
                if not self._scan.fill(False):
                    return
                tell()

    def to_arrow(self) -> pyarrow.Table:
        """All rows as a table of pyarrow; needs the package pyarrow.

        A column per field, by its name on the wire: the documented ones first, then those of the first
        1,000 records. Values that fit no column are in `_extra`, as JSON, so that nothing is lost.

        Raises:
            ImportError: pyarrow is not installed; nothing was sent.

        >>> import talentdata
        >>> with talentdata.Sandbox(records={"contacts": 250}) as sandbox, sandbox.client() as client:
        ...     table = client.contacts.list().to_arrow()
        >>> table.num_rows, table.column_names[:4]
        (250, ['id', 'firstName', 'lastName', 'email'])
        """
        return self._collect(_frames.to_arrow())

    def to_polars(self) -> polars.DataFrame:
        """All rows as a data frame of polars; needs the package polars. For the columns see `to_arrow`."""
        return self._collect(_frames.to_polars())

    def to_pandas(self) -> pandas.DataFrame:
        """All rows as a data frame of pandas; needs the packages pandas and pyarrow.

        For the columns see `to_arrow`. Whole numbers and booleans have the types that allow empty cells
        (`Int64`, `boolean`), so that they stay exact.
        """
        return self._collect(_frames.to_pandas())

    def to_parquet(self, path: str | os.PathLike[str], *, resume: bool = False) -> Receipt:
        """Writes all rows into a Parquet file, which appears under its name when it is complete.

        Needs no other package, and memory for a part of the rows only. For the columns see `to_arrow`.

        Args:
            path: The file. Until it is complete, the rows are in files beside it whose names begin with its own.
            resume: Goes on behind the last 8,192 rows that an unfinished call for the same list and file has
                written; begins afresh where there is none. Without, what is unfinished is replaced.

        Raises:
            talentdata.IoError: The file cannot be written.
            talentdata.Error: A page could not be had; the text says what can be resumed. So does the cause
                (`__cause__`) of a `KeyboardInterrupt`.

        >>> import os, talentdata, tempfile
        >>> with talentdata.Sandbox(records={"pools": 250}) as sandbox, sandbox.client() as client:
        ...     with tempfile.TemporaryDirectory() as folder:
        ...         client.pools.list().to_parquet(os.path.join(folder, "pools.parquet"), resume=True).records
        250
        """
        with follow(self._scan, self._name, self._progress) as tell:
            self._scan.export(False, "parquet", path, resume, tell)
            tell()
        return self.receipt

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as they come, for whoever speaks the Arrow PyCapsule protocol: pyarrow, polars, DuckDB.

        >>> import pyarrow, talentdata
        >>> with talentdata.Sandbox(records={"pools": 250}) as sandbox, sandbox.client() as client:
        ...     reader = pyarrow.RecordBatchReader.from_stream(client.pools.list())
        ...     sum(batch.num_rows for batch in reader)
        250
        """
        return self._scan.__arrow_c_stream__(requested_schema)

    def _collect(self, convert: Callable[[Table], F]) -> F:
        with follow(self._scan, self._name, self._progress) as tell:
            table = self._scan.table(False)
            while self._scan.fill_table(False, table):
                tell()
            tell()
        return convert(table)

    @property
    def receipt(self) -> Receipt:
        """What has been done so far; final once the scan has ended."""
        return Receipt(self._scan.receipt())

    def close(self) -> None:
        """Stops all requests of the scan; a thread that waits for it gets a `ClosedError`."""
        self._scan.close()

    def __enter__(self) -> Scan[R]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<scan of {self._name}: {self._scan.progress()[0]} records so far>"


class AsyncScan(Generic[R]):
    """All records of a list, for `async for`; see `Scan`.

    >>> import asyncio, talentdata
    >>> async def main(sandbox):
    ...     async with sandbox.async_client() as client:
    ...         return (await client.contacts.list().to_arrow()).num_rows
    >>> with talentdata.Sandbox(records={"contacts": 250}) as sandbox:
    ...     asyncio.run(main(sandbox))
    250
    """

    __slots__ = ("_current", "_name", "_progress", "_scan")

    def __init__(self, scan: RawScan, name: str, model: type[R], progress: bool | None) -> None:
        self._scan = scan
        self._name = name
        self._progress = progress
        # Ends where more have to be waited for, and goes on behind it.
        self._current: Iterator[R] = map(model, scan)

    async def __aiter__(self) -> AsyncIterator[R]:
        with follow(self._scan, self._name, self._progress) as tell:
            while True:
                for record in self._current:
                    yield record
                if not await self._scan.fill(True):
                    return
                tell()

    async def to_arrow(self) -> pyarrow.Table:
        """See `Scan.to_arrow`."""
        return await self._collect(_frames.to_arrow())

    async def to_polars(self) -> polars.DataFrame:
        """See `Scan.to_polars`."""
        return await self._collect(_frames.to_polars())

    async def to_pandas(self) -> pandas.DataFrame:
        """See `Scan.to_pandas`."""
        return await self._collect(_frames.to_pandas())

    async def to_parquet(self, path: str | os.PathLike[str], *, resume: bool = False) -> Receipt:
        """See `Scan.to_parquet`."""
        with follow(self._scan, self._name, self._progress) as tell:
            await told(self._scan.export(True, "parquet", path, resume, tell), tell)
        return self.receipt

    async def _collect(self, convert: Callable[[Table], F]) -> F:
        with follow(self._scan, self._name, self._progress) as tell:
            table = await self._scan.table(True)
            while await self._scan.fill_table(True, table):
                tell()
            tell()
        return convert(table)

    @property
    def receipt(self) -> Receipt:
        """What has been done so far; final once the scan has ended."""
        return Receipt(self._scan.receipt())

    async def close(self) -> None:
        """Stops all requests of the scan; a task that waits for it gets a `ClosedError`."""
        self._scan.close()

    async def __aenter__(self) -> AsyncScan[R]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<scan of {self._name}: {self._scan.progress()[0]} records so far>"
