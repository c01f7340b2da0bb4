"""A list of the service, for the blocking client and for the async one."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from ._page import Page, made, next_offset
from ._plan import Plan
from ._progress import follow, told
from ._receipt import Receipt
from ._scan import AsyncScan, Scan
from ._talentdata import BaseClient, RawExport, RawScan, Record

if TYPE_CHECKING:
    import pyarrow

R = TypeVar("R", bound=Record)


class Resource(Generic[R]):
    """A list of the service, such as `client.contacts`.

    Its records are of the class the document shows, `Record` where it shows none.

    >>> import talentdata
    >>> with talentdata.Sandbox(records={"contacts": 3}) as sandbox, sandbox.client() as client:
    ...     contacts = client.contacts
    ...     contacts.plan().pages, len(contacts.page()), len(list(contacts.list()))
    (2, 3, 3)
    """

    __slots__ = ("_client", "_model", "_name", "_parameters")

    def __init__(self, client: BaseClient, name: str, model: type[R], parameters: str | None = None) -> None:
        self._client = client
        self._name = name
        self._model = model
        self._parameters = parameters

    def list(
        self,
        *,
        limit: int | None = None,
        page_size: int | None = None,
        columns: Literal["typed", "json"] = "typed",
        schema: str | os.PathLike[str] | pyarrow.Schema | Record | None = None,
        on_new: Literal["keep", "freeze", "fail"] = "keep",
        progress: bool | None = None,
    ) -> Scan[R]:
        """All records, to iterate over or to turn into a data frame. Nothing is sent before that.

        Args:
            limit: Records to deliver at most; by default all.
            page_size: Records per request; the list's maximum by default (section 8: 100).
            columns: The types of columns: `"typed"` has lists and structs for nested values, and timestamps and
                dates for the texts of RFC 3339; `"json"` has JSON text and strings.
            schema: The columns, so that they are the same in every run: a file that `talentdata schema` has
                printed, what `schema()` returned, or a `pyarrow.Schema`. By default they are decided from the
                first 1,000 records. How the records differ from it stands in `receipt.schema`.
            on_new: What to do with fields that the schema does not have: `"keep"` has them in `_extra` and in the
                receipt, `"freeze"` in `_extra` only, and for `"fail"` the first one is a `SchemaError`.
            progress: A progress bar by tqdm; by default on a terminal and in a notebook, if tqdm is installed.

        >>> import talentdata
        >>> with talentdata.Sandbox(records={"pools": 150}) as sandbox, sandbox.client() as client:
        ...     scan = client.pools.list()
        ...     len({pool["id"] for pool in scan}), scan.receipt.completeness
        (150, Completeness('proven'))
        """
        scan = RawScan(
            self._client, self._name, page_size, limit, columns, schema, on_new, self._parameters
        )
        return Scan(scan, self._name, self._model, progress)

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        format: Literal["jsonl", "csv", "parquet", "arrow"] | None = None,
        resume: bool = False,
        limit: int | None = None,
        page_size: int | None = None,
        columns: Literal["typed", "json"] = "typed",
        schema: str | os.PathLike[str] | pyarrow.Schema | Record | None = None,
        on_new: Literal["keep", "freeze", "fail"] = "keep",
        progress: bool | None = None,
    ) -> Receipt:
        """Writes the whole list to a file, which appears under its name when it is complete.

        Needs no other package, and memory for a part of the records only. After Ctrl-C, an error or a crash, the same
        call with `resume=True` continues: JSON Lines after the first page, CSV after the first 1,000 records, Parquet
        after the first row group (8,192 records). Until then, and for Arrow, the export begins again. The message of
        the error says how many records are kept.

        Args:
            path: The file. Until it is complete, the records are in files beside it whose names begin with its own;
                only their owner can read them.
            format: `"jsonl"` (a record per line, as the service sent it), `"csv"`, `"parquet"` or `"arrow"` (the IPC
                file format). By default that of the file name extension; `"jsonl"` without one.
            resume: Continue an interrupted export of this list to this file with the same options, or begin if there
                is none; not for `"arrow"`. Without it, what an interrupted export has left is replaced.
            limit: See `list`, like the following arguments. Columns are those of CSV, Parquet and Arrow files.
            page_size: See `list`.
            columns: See `list`.
            schema: See `list`.
            on_new: See `list`.
            progress: See `list`.

        Raises:
            talentdata.IoError: The file cannot be written, another export is writing to it, or a file that is not
                ours has the name of one beside it.
            talentdata.InvalidArgumentError: An argument is wrong, or what is to be resumed was begun with others.
            talentdata.Error: A page could not be fetched. The text says what is kept and how to continue; after
                Ctrl-C the cause (`__cause__`) of the `KeyboardInterrupt` does.

        >>> import os, talentdata, tempfile
        >>> with talentdata.Sandbox(records={"pools": 250}) as sandbox, sandbox.client() as client:
        ...     with tempfile.TemporaryDirectory() as directory:
        ...         receipt = client.pools.export(os.path.join(directory, "pools.csv"), resume=True)
        >>> receipt.records, receipt.completeness
        (250, Completeness('proven'))
        """
        arguments = (path, format, resume, page_size, limit, columns, schema, on_new, self._parameters)
        export = RawExport(self._client, self._name, *arguments)
        with follow(export, self._name, progress) as tell:
            receipt = Receipt(export.run(False, tell))
            tell()
        return receipt

    def page(self, limit: int | None = None, offset: int = 0) -> Page[R]:
        """One page.

        Args:
            limit: Records to ask for, 1 to the list's maximum; the service's default where none is given.
            offset: Records to skip.

        Raises:
            talentdata.InvalidArgumentError: The limit is out of range; nothing was sent.

        >>> import talentdata
        >>> with talentdata.Sandbox(records={"contacts": 250}) as sandbox, sandbox.client() as client:
        ...     page = client.contacts.page(limit=20, offset=240)
        >>> len(page), page.pagination.has_more
        (10, False)
        """
        return made(self._model, self._client._page(False, self._name, limit, offset, self._parameters))

    def pages(self, limit: int | None = None, offset: int = 0) -> Iterator[Page[R]]:
        """One page after the other, as the service sends them; a list that changes may repeat or lose
        records, which `list` prevents.

        Args:
            limit: Records to ask for, page by page; see `page`.
            offset: Records to skip.

        Raises:
            talentdata.PagingError: The service makes no progress.

        >>> import talentdata
        >>> with talentdata.Sandbox(records={"contacts": 250}) as sandbox, sandbox.client() as client:
        ...     [len(page) for page in client.contacts.pages(limit=100)]
        [100, 100, 50]
        """
        following: int | None = offset
        while following is not None:
            page = self.page(limit, following)
            yield page
            following = next_offset(page)

    def plan(self) -> Plan:
        """What reading the whole list will cost: records, pages and seconds. Sends one request.

        >>> import talentdata
        >>> with talentdata.Sandbox(records={"contacts": 4000}) as sandbox, sandbox.client() as client:
        ...     plan = client.contacts.plan()
        >>> plan.records, plan.seconds > 0.5
        (4000, True)
        """
        return Plan(self._client._plan(False, self._name, self._parameters))

    def schema(self, *, columns: Literal["typed", "json"] = "typed") -> Record:
        """The columns that a table of the list has: names, types, nullability, and how they were found.

        It is decided from the first 1,000 records. Its `json` is what `talentdata schema` prints: write it to a
        file, and give that to `list(schema=...)` in every later run.

        >>> import talentdata
        >>> with talentdata.Sandbox(records={"pools": 50}) as sandbox, sandbox.client() as client:
        ...     schema = client.pools.schema()
        ...     table = client.pools.list(schema=schema).to_arrow()
        >>> [field["name"] for field in schema["fields"]] == table.column_names[:-1]
        True
        """
        return Record(self._client._schema(False, self._name, columns, self._parameters))

    def __repr__(self) -> str:
        return f"<list {self._name} of {self._client!r}>"


class AsyncResource(Generic[R]):
    """A list of the service for asyncio; see `Resource`.

    >>> import asyncio, talentdata
    >>> async def main(sandbox):
    ...     async with sandbox.async_client() as client:
    ...         page = await client.contacts.page(limit=2)
    ...         return len(page), len([contact async for contact in client.contacts.list()])
    >>> with talentdata.Sandbox(records={"contacts": 3}) as sandbox:
    ...     asyncio.run(main(sandbox))
    (2, 3)
    """

    __slots__ = ("_client", "_model", "_name", "_parameters")

    def __init__(self, client: BaseClient, name: str, model: type[R], parameters: str | None = None) -> None:
        self._client = client
        self._name = name
        self._model = model
        self._parameters = parameters

    def list(
        self,
        *,
        limit: int | None = None,
        page_size: int | None = None,
        columns: Literal["typed", "json"] = "typed",
        schema: str | os.PathLike[str] | pyarrow.Schema | Record | None = None,
        on_new: Literal["keep", "freeze", "fail"] = "keep",
        progress: bool | None = None,
    ) -> AsyncScan[R]:
        """See `Resource.list`; there is nothing to await before the first record."""
        scan = RawScan(
            self._client, self._name, page_size, limit, columns, schema, on_new, self._parameters
        )
        return AsyncScan(scan, self._name, self._model, progress)

    async def export(
        self,
        path: str | os.PathLike[str],
        *,
        format: Literal["jsonl", "csv", "parquet", "arrow"] | None = None,
        resume: bool = False,
        limit: int | None = None,
        page_size: int | None = None,
        columns: Literal["typed", "json"] = "typed",
        schema: str | os.PathLike[str] | pyarrow.Schema | Record | None = None,
        on_new: Literal["keep", "freeze", "fail"] = "keep",
        progress: bool | None = None,
    ) -> Receipt:
        """See `Resource.export`. A task that is cancelled keeps what was written until about a second before, for
        `resume=True` to continue; the cause (`__cause__`) of its `CancelledError` says so."""
        arguments = (path, format, resume, page_size, limit, columns, schema, on_new, self._parameters)
        export = RawExport(self._client, self._name, *arguments)
        # Whoever awaits has imported it; the package does without.
        import asyncio

        with follow(export, self._name, progress) as tell:
            try:
                receipt = Receipt(await told(export.run(True, tell), tell))
            except asyncio.CancelledError as cancelled:
                export.explain(cancelled)
                raise
            tell()
        return receipt

    async def page(self, limit: int | None = None, offset: int = 0) -> Page[R]:
        """See `Resource.page`."""
        return made(self._model, await self._client._page(True, self._name, limit, offset, self._parameters))

    async def pages(self, limit: int | None = None, offset: int = 0) -> AsyncIterator[Page[R]]:
        """See `Resource.pages`."""
        following: int | None = offset
        while following is not None:
            page = await self.page(limit, following)
            yield page
            following = next_offset(page)

    async def plan(self) -> Plan:
        """See `Resource.plan`."""
        return Plan(await self._client._plan(True, self._name, self._parameters))

    async def schema(self, *, columns: Literal["typed", "json"] = "typed") -> Record:
        """See `Resource.schema`."""
        return Record(await self._client._schema(True, self._name, columns, self._parameters))

    def __repr__(self) -> str:
        return f"<list {self._name} of {self._client!r}>"
