"""Every record of a list, read a page at a time while you go."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from . import _frames
from ._progress import Bar, follow, start
from ._receipt import Receipt
from ._talentdata import RawScan, Record, Records, Table

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

R = TypeVar("R", bound=Record)
F = TypeVar("F")


class Scan(Generic[R]):
    """All records of a list, to be read once: as records or as columns. `client.contacts.list()` makes one.

    Pages are fetched ahead, in parallel, at the rate that the service allows. Leaving a `with` block, or
    `close`, stops the requests.

    One iterator reads the records. Whoever stops in between, by `break` or Ctrl-C, goes on with the same
    iterator and loses nothing: `records = iter(scan)`. Threads that share it get each record once. A second
    iterator is refused, because the records that the first one has taken would be missing.

    Raises:
        talentdata.Error: A page could not be fetched; its `offset` says which. The scan has ended then.
        talentdata.InvalidArgumentError: The scan was read before, or is being read in another way.
        talentdata.CancelledError: The scan was closed.

    >>> import talentdata
    >>> with talentdata.Sandbox(records={"contacts": 250}) as sandbox, sandbox.client() as client:
    ...     scan = client.contacts.list()
    ...     records = iter(scan)
    ...     first = next(contact.email for contact in records)
    ...     len([contact for contact in records]), scan.receipt.records
    (249, 250)
    """

    __slots__ = ("_model", "_name", "_progress", "_scan")

    def __init__(self, scan: RawScan, name: str, model: type[R], progress: bool | None) -> None:
        self._scan = scan
        self._name = name
        self._model = model
        self._progress = progress

    def __iter__(self) -> Iterator[R]:
        return self._scan.records(self._model, True, start(self._scan, self._name, self._progress))

    def to_arrow(self) -> pyarrow.Table:
        """All rows as a table of pyarrow; needs the package pyarrow.

        A column per field, by its name on the wire: the documented ones first, then those of the first
        1,000 records. Nested values are lists and structs, date-times and dates have types of their own.
        Values that fit no column are in `_extra`, as JSON, so that nothing is lost.

        After Ctrl-C, this method, `to_polars` and `to_pandas` go on where the scan stopped: the frame has all rows.

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

    def to_pandas(self, *, dtype_backend: Literal["pyarrow", "numpy_nullable"] | None = None) -> pandas.DataFrame:
        """All rows as a data frame of pandas; needs the packages pandas and pyarrow.

        For the columns see `to_arrow`. Whole numbers and booleans have the types that allow empty cells
        (`Int64`, `boolean`), so that they stay exact. Lists are arrays of numpy and structs are dicts.

        Args:
            dtype_backend: `"pyarrow"` keeps all columns as Arrow has them, with the accessors `.list` and
                `.struct`; `"numpy_nullable"` has the nullable types for strings and doubles too.

        >>> import talentdata
        >>> with talentdata.Sandbox(records={"contacts": 50}) as sandbox, sandbox.client() as client:
        ...     contacts = client.contacts.list().to_pandas(dtype_backend="pyarrow")
        >>> len(contacts["location"].struct.field("city")), int(contacts["createdAt"].dt.year.min()) > 2000
        (50, True)
        """
        return self._collect(_frames.to_pandas(dtype_backend))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as they come, for whoever speaks the Arrow PyCapsule protocol: pyarrow, polars, DuckDB.

        One reader gets them, once. Where a query is run again, as DuckDB does for each result that it shows,
        and where an interrupted read has to go on, `to_arrow` is the way.

        >>> import pyarrow, talentdata
        >>> with talentdata.Sandbox(records={"pools": 250}) as sandbox, sandbox.client() as client:
        ...     reader = pyarrow.RecordBatchReader.from_stream(client.pools.list())
        ...     sum(batch.num_rows for batch in reader)
        250
        """
        return self._scan.__arrow_c_stream__(requested_schema)

    def _collect(self, convert: Callable[[Table], F]) -> F:
        with follow(self._scan, self._name, self._progress) as tell:
            while self._scan.collect(False):
                tell()
            tell()
        frame = convert(self._scan.table())
        # Not before: whoever interrupts the conversion can call again.
        self._scan.give_table()
        return frame

    @property
    def receipt(self) -> Receipt:
        """What has been done so far; final once the scan has ended. `records` counts those that you were given."""
        return Receipt(self._scan.receipt())

    def close(self) -> None:
        """Stops all requests of the scan; a thread that waits for it gets a `CancelledError`."""
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

    Whoever stops in between, by `break` or a timeout, goes on with the same iterator: `records = aiter(scan)`.
    Tasks that share it get each record once.

    >>> import asyncio, talentdata
    >>> async def main(sandbox):
    ...     async with sandbox.async_client() as client:
    ...         return (await client.contacts.list().to_arrow()).num_rows
    >>> with talentdata.Sandbox(records={"contacts": 250}) as sandbox:
    ...     asyncio.run(main(sandbox))
    250
    """

    __slots__ = ("_model", "_name", "_progress", "_scan")

    def __init__(self, scan: RawScan, name: str, model: type[R], progress: bool | None) -> None:
        self._scan = scan
        self._name = name
        self._model = model
        self._progress = progress

    def __aiter__(self) -> AsyncIterator[R]:
        bar = start(self._scan, self._name, self._progress)
        return AsyncRecords(self._scan.records(self._model, False, None), bar)

    async def to_arrow(self) -> pyarrow.Table:
        """See `Scan.to_arrow`."""
        return await self._collect(_frames.to_arrow())

    async def to_polars(self) -> polars.DataFrame:
        """See `Scan.to_polars`."""
        return await self._collect(_frames.to_polars())

    async def to_pandas(
        self, *, dtype_backend: Literal["pyarrow", "numpy_nullable"] | None = None
    ) -> pandas.DataFrame:
        """See `Scan.to_pandas`."""
        return await self._collect(_frames.to_pandas(dtype_backend))

    async def _collect(self, convert: Callable[[Table], F]) -> F:
        with follow(self._scan, self._name, self._progress) as tell:
            while await self._scan.collect(True):
                tell()
            tell()
        frame = convert(self._scan.table())
        self._scan.give_table()
        return frame

    @property
    def receipt(self) -> Receipt:
        """See `Scan.receipt`."""
        return Receipt(self._scan.receipt())

    async def close(self) -> None:
        """Stops all requests of the scan; a task that waits for it gets a `CancelledError`."""
        self._scan.close()

    async def __aenter__(self) -> AsyncScan[R]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<scan of {self._name}: {self._scan.progress()[0]} records so far>"


class AsyncRecords(Generic[R]):
    """The records of an `AsyncScan`, one after the other.

    It is no generator, which an exception would end: whoever was cancelled goes on with the next record.
    """

    __slots__ = ("_bar", "_records")

    def __init__(self, records: Records[R], bar: Bar | None) -> None:
        self._records = records
        self._bar = bar

    def __aiter__(self) -> AsyncRecords[R]:
        return self

    async def __anext__(self) -> R:
        while True:
            # Ends where more have to be waited for. A loop, because Ctrl-C cannot come between it and `return`.
            for record in self._records:
                return record
            more = await self._records.fill()
            if self._bar is not None:
                self._bar()
            if not more:
                if self._bar is not None:
                    self._bar.close()
                raise StopAsyncIteration
