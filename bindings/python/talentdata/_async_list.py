"""A list of the service and its scans, for asyncio. `cargo xtask generate` makes the blocking classes from this file."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from . import _display, _frames
from ._errors import InvalidArgumentError
from ._models import Pagination
from ._page import Page
from ._process import interrupts
from ._progress import Wanted, follow, iterate_async, run_async, start
from ._results import Plan, Receipt
from ._talentdata import BaseClient, RawJob, RawScan, Record, Table
from ._warning import checked, warn, warn_of_names

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

R = TypeVar("R", bound=Record)
F = TypeVar("F")

#: Names of fields. An alias is needed, because the method `list` hides the type `list` in the classes below.
Names = list[str]


class AsyncList(Generic[R]):
    """A list of the service, such as `client.contacts`.

    Its records have the class that the spec defines, or `Record` if it defines none.
    """

    __slots__ = ("_client", "_list", "_model")

    def __init__(self, client: BaseClient, name: str, model: type[R], parameters: str | None = None) -> None:
        self._client = client
        self._list = (name, parameters)
        self._model = model

    def list(
        self,
        *,
        limit: int | None = None,
        page_size: int | None = None,
        fields: Names | None = None,
        drop: Names | None = None,
        hash: Names | None = None,
        columns: Literal["typed", "json"] | Names = "typed",
        schema: str | os.PathLike[str] | pyarrow.Schema | Record | None = None,
        on_new_field: Literal["keep", "freeze", "fail"] = "keep",
        unproven: Literal["fail", "warn", "accept"] | None = None,
        batch_rows: int = 4096,
        progress: Wanted = None,
    ) -> AsyncScan[R]:
        """Creates a scan of all records, to iterate over or to turn into a data frame. It sends no request before that.

        Args:
            limit: The maximum number of records; by default all.
            page_size: Records per request; by default the list's maximum.
            fields: The only fields to keep in addition to `id`: names, or JSON pointers with `*` for the items of an
                array, such as `["email", "/languages/*/level"]`. Other fields are removed before a record is returned
                or written. A list of names as `columns` means the same.
            drop: The fields to omit, in the same form. `drop` cannot be combined with `fields`.
            hash: The fields whose values become digests, in the same form. They are kept in addition to
                `fields`. Equal values have equal digests. `None` stays `None`. The setting `hash_key` has the key.
            columns: The types of columns: `"typed"` uses lists and structs for nested values, and timestamps and dates
                for texts in the format of RFC 3339; `"json"` uses JSON text and strings.
            schema: The columns, if they must be the same in every run: a file with the output of `talentdata schema`,
                the result of `schema()`, or a `pyarrow.Schema`. By default they are inferred from the first 1,000
                records. In both cases, `receipt.schema` lists any differences.
            on_new_field: The treatment of fields without a column, and of values that do not fit the type of their
                column. `"keep"` keeps them in `_extra` and reports them in the receipt, `"freeze"` only keeps them in
                `_extra`, and `"fail"` raises a `SchemaError` at the first one. Iteration over records has no
                columns.
            unproven: The reaction at the end of the list if its completeness is not proven. `"fail"` raises an
                `IncompleteError`, `"warn"` issues an `IncompleteWarning`, and `"accept"` only records it in the
                receipt. By default, `to_arrow`, `to_polars` and `to_pandas` use `"warn"`, an Arrow stream for other
                libraries uses `"fail"`, and iteration uses `"accept"`. A scan that reaches its `limit` needs no proof.
            batch_rows: The rows of each record batch of an Arrow stream, from 1 to 1,048,576. Batches have fewer if
                their rows are large, and before an error.
            progress: Whether to show progress; by default on a terminal and in a notebook. If you pass a function, it
                is called after each page instead, with the number of records and the service's total, which may be
                None. `talentdata.progress = False`, or `TALENTDATA_PROGRESS=0` in the environment, disables all
                progress.
        """
        options: dict[str, Any] = {"limit": limit, "page_size": page_size}
        options |= {"fields": fields, "drop": drop, "hash": hash}
        options |= {"columns": columns, "schema": schema, "on_new_field": on_new_field, "unproven": unproven}
        options |= {"batch_rows": batch_rows}
        scan = RawScan(self._client, self._list, options)
        return AsyncScan(scan, self._list[0], self._model, progress)

    async def to_arrow(self) -> pyarrow.Table:
        """Returns the whole list as a table of pyarrow, by one scan. Needs pyarrow. See `list` and `Scan.to_arrow`.

        Use it for repeated queries, because an engine that gets the list object reads the list again for each query.
        """
        return await self.list().to_arrow()

    async def to_polars(self) -> polars.DataFrame:
        """Returns the whole list as a data frame of polars, by one scan. Needs polars. See `list` and `Scan.to_polars`."""
        return await self.list().to_polars()

    async def to_pandas(self) -> pandas.DataFrame:
        """Returns the whole list as a data frame of pandas, by one scan. Needs pandas and pyarrow. See `list` and
        `Scan.to_pandas`."""
        return await self.list().to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Returns the rows of a new scan by the Arrow PyCapsule protocol, for DuckDB, polars, pyarrow and others.

        Each read scans the whole list, and uses the request budget. All reads by a client have the columns of the first
        read; other fields are in `_extra`.

        If completeness is not proven, the stream ends with an error after the last row.
        """
        return RawScan.of_table(self._client, self._list).stream(interrupts())

    def __arrow_c_schema__(self) -> object:
        """Returns the columns by the Arrow PyCapsule protocol. The client remembers them, and requests the first 1,000 records
        if the list was not read before."""
        return RawScan.columns(self._client, self._list)

    async def export(
        self,
        path: str | os.PathLike[str],
        *,
        format: Literal["jsonl", "csv", "parquet", "arrow"] | None = None,
        resume: bool = False,
        restart: bool = False,
        mode: str | int | None = None,
        limit: int | None = None,
        page_size: int | None = None,
        fields: Names | None = None,
        drop: Names | None = None,
        hash: Names | None = None,
        columns: Literal["typed", "json"] | Names = "typed",
        schema: str | os.PathLike[str] | pyarrow.Schema | Record | None = None,
        on_new_field: Literal["keep", "freeze", "fail"] = "keep",
        progress: Wanted = None,
    ) -> Receipt:
        """Writes the whole list to a file. The file gets its name when it is complete.

        Needs no other package, and keeps only a part of the records in memory. After Ctrl-C, a cancelled task, an error
        or a crash, the same call with `resume=True` continues. The message of the exception, or of its cause
        (`__cause__`), says how many records are kept.

        Args:
            path: The file. Until it is complete, the records are in a directory next to it, whose name begins with the
                name of the file. Only their owner can read them.
            format: `"jsonl"` (a record per line, as the service sent it), `"csv"`, `"parquet"` or `"arrow"` (the IPC
                file format). By default the file name extension decides; `"jsonl"` without one.
            resume: Continue an interrupted export of this list to this file, or begin if there is none. If its options
                differ or it is damaged, the export begins again, and `receipt.restarted` has the reason.
            restart: Discard the kept records of an interrupted export to this file, and begin again. If there are kept
                records, you must set either `resume` or `restart`.
            mode: The permissions of a new file, such as `"0640"`; by default `"0600"`, so that only its owner can read
                it. A replaced file keeps its permissions.
            limit: See `list`, as for the following arguments. Only CSV, Parquet and Arrow files have columns.
            page_size: See `list`.
            fields: See `list`.
            drop: See `list`.
            hash: See `list`.
            columns: See `list`.
            schema: See `list`.
            on_new_field: See `list`.
            progress: See `list`.

        Raises:
            talentdata.BusyError: Another export is writing to the file.
            talentdata.PathError: No file can be written at the path, or another file has the name of the directory next
                to it.
            talentdata.StorageFullError: The disk is full.
            talentdata.InvalidArgumentError: An argument is wrong, or there are kept records of an interrupted export,
                and neither `resume` nor `restart` is set. No request was sent.
            talentdata.Error: A page could not be fetched.
        """
        options: dict[str, Any] = {"resume": resume, "restart": restart, "mode": mode}
        options |= {"limit": limit, "page_size": page_size}
        options |= {"fields": fields, "drop": drop, "hash": hash}
        options |= {"columns": columns, "schema": schema, "on_new_field": on_new_field}
        job = RawJob(self._client, False, self._list, path, options, format)
        return checked(Receipt(await run_async(job, self._list[0], progress)))

    async def page(self, limit: int | None = None, offset: int = 0) -> Page[R]:
        """Returns one page, as the service sends it.

        Args:
            limit: The number of records to request, from 1 to the list's maximum. By default the service decides.
            offset: The number of records to skip.

        Raises:
            talentdata.InvalidArgumentError: The limit is out of range. No request was sent.
        """
        records, pagination, key = await self._client._page(self._list, limit, offset)
        return Page([self._model(record) for record in records], Pagination(pagination), key)

    async def plan(self) -> Plan:
        """Estimates the cost of reading the whole list: records, pages and seconds. Sends one request."""
        return Plan(await self._client._plan(self._list))

    async def schema(
        self,
        *,
        fields: Names | None = None,
        drop: Names | None = None,
        hash: Names | None = None,
        columns: Literal["typed", "json"] = "typed",
    ) -> Record:
        """Returns the columns of a table of the list: their names, types, nullability and sources.

        They are inferred from the first 1,000 records. `json` of the result is the output of `talentdata schema`: write
        it to a file, and pass the file to `list(schema=...)` in every later run. See `list` for the arguments.
        """
        options = {"fields": fields, "drop": drop, "hash": hash, "columns": columns}
        return Record(await self._client._schema(self._list, options))

    def __repr__(self) -> str:
        return f"<list {self._list[0]} of {self._client!r}; {_display.NEXT}>"

    def _repr_html_(self) -> str:
        return _display.of_list(self._list[0], self._client)


class AsyncScan(Generic[R]):
    """All records of a list, which are read once, as records or as columns. `client.contacts.list()` creates a scan.

    Pages are requested ahead, in parallel, at the rate that the service allows. Leaving the `async with` block, or
    `close`, stops the requests.

    After `break` or an interruption, continue with the same iterator, as in `records = aiter(scan)`: no records are
    lost. If tasks or threads share an iterator, each record goes to one of them. A second iterator is refused, because
    it would lack the records that the first one took.

    Raises:
        talentdata.Error: A page could not be fetched; `offset` says which one. The scan has ended.
        talentdata.InvalidArgumentError: The scan was read before, or is being read in another way.
        talentdata.CancelledError: The scan was closed.
    """

    __slots__ = ("_model", "_name", "_progress", "_scan")

    def __init__(self, scan: RawScan, name: str, model: type[R], progress: Wanted) -> None:
        self._scan = scan
        self._name = name
        self._model = model
        self._progress = progress

    def __aiter__(self) -> AsyncIterator[R]:
        return iterate_async(self._scan, self._model, start(self._scan, self._name, self._progress))

    async def to_arrow(self) -> pyarrow.Table:
        """Returns all rows as a table of pyarrow. Needs the package pyarrow.

        There is a column for each field, with its name in the API: first the documented fields, then other fields of
        the first 1,000 records. Nested values are lists and structs. Date-times and dates have their own types. Values
        that fit no column are in `_extra` as JSON, so that no value is lost.

        After an interruption, this method, `to_polars` and `to_pandas` continue where the scan stopped: the frame has
        all rows.

        Raises:
            ImportError: pyarrow is not installed. No request was sent.
        """
        return await self._collect(_frames.to_arrow())

    async def to_polars(self) -> polars.DataFrame:
        """Returns all rows as a data frame of polars. Needs the package polars. See `to_arrow`."""
        return await self._collect(_frames.to_polars())

    async def to_pandas(self, *, dtype_backend: Literal["pyarrow", "numpy_nullable"] | None = None) -> pandas.DataFrame:
        """Returns all rows as a data frame of pandas. Needs the packages pandas and pyarrow.

        See `to_arrow`. Integers and booleans have the types that allow empty cells (`Int64`, `boolean`), so that they
        stay exact. Lists are arrays of numpy, and structs are dicts.

        Args:
            dtype_backend: `"pyarrow"` keeps the Arrow types of all columns, with the accessors `.list` and `.struct`;
                `"numpy_nullable"` also uses nullable types for strings and doubles.
        """
        return await self._collect(_frames.to_pandas(dtype_backend))

    async def _collect(self, convert: Callable[[Table], F]) -> F:
        with follow(self._scan, self._name, self._progress) as on_progress:
            while await self._scan.collect():
                on_progress()
            on_progress()
        frame = convert(self._scan.table())
        warn(self._scan.take_warning())
        # The scan drops its table only now. If the conversion is interrupted, the caller can call again.
        self._scan.table_taken()
        warn_of_names(self.receipt)
        return frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Returns the rows as they arrive, by the Arrow PyCapsule protocol, for pyarrow, polars, DuckDB and others.

        They can be read once, by one reader. Use `to_arrow` to continue after an interruption, and for repeated
        queries: DuckDB runs a query again for each result that it shows.

        If completeness is not proven, the stream ends with an error after the last row. The argument
        `unproven` of `list` turns the error into a warning, or suppresses it.
        """
        if self._scan.is_awaited():
            raise InvalidArgumentError("a scan of an asynchronous client has no Arrow stream; await its to_arrow()")
        return self._scan.stream(interrupts())

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise InvalidArgumentError(
            "a scan is not an array, because integers lose digits; use to_pandas() or to_arrow()"
        )

    @property
    def receipt(self) -> Receipt:
        """The receipt so far, which is final after the end. `records` counts the records that you received."""
        return Receipt(self._scan.receipt())

    async def close(self) -> None:
        """Stops all requests of the scan. Calls that wait for it raise a `CancelledError`."""
        self._scan.close()

    async def __aenter__(self) -> AsyncScan[R]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<{_display.scan_title(self._name, self._scan)}>"

    def _repr_html_(self) -> str:
        return _display.of_scan(self._name, self._scan)
