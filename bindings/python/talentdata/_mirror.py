"""Mirrors: a list as of the last sync or an earlier one, and the changes of each sync. Checks of exported files."""

from __future__ import annotations

import datetime
import itertools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeVar

from . import _frames, _talentdata
from ._errors import InvalidArgumentError
from ._results import Receipt, SyncReceipt, Verification
from ._talentdata import RawMirror, RawRows, Record, forget

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


_Frame = TypeVar("_Frame")


class Rows:
    """Rows of a mirror, for all readers of the Arrow PyCapsule protocol: pyarrow, polars, DuckDB.

    They can be read any number of times, by several readers at once. The first reading returns the rows as they were
    when this object was made. Each further one reads the mirror again.
    """

    __slots__ = ("_rows",)

    def __init__(self, rows: RawRows) -> None:
        self._rows = rows

    @property
    def bookmark(self) -> str:
        """The bookmark of the last sync when this object was made, or that of the sync of `as_of`.

        It exists even if there are no rows. Store it in the transaction that loads the rows, and pass it to
        `Mirror.changes` the next time. The metadata of the Arrow schema has it too, as `talentdata.bookmark`.
        """
        return self._rows.bookmark

    def to_arrow(self) -> pyarrow.Table:
        """All rows as a table of pyarrow; needs the package pyarrow."""
        return self._logged(_frames.to_arrow())

    def to_polars(self) -> polars.DataFrame:
        """All rows as a data frame of polars; needs the package polars."""
        return self._logged(_frames.to_polars())

    def to_pandas(self, *, dtype_backend: Literal["pyarrow", "numpy_nullable"] | None = None) -> pandas.DataFrame:
        """All rows as a data frame of pandas, with the types of `Scan.to_pandas`; needs pandas and pyarrow."""
        return self._logged(_frames.to_pandas(dtype_backend))

    def _logged(self, read: Callable[[Rows], _Frame]) -> _Frame:
        """Reads the rows, and passes the messages of the read to the logger."""
        try:
            return read(self)
        finally:
            self._rows.deliver_log()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as they are read, by the Arrow PyCapsule protocol."""
        return self._rows.stream()


class Mirror:
    """A mirror: one SQLite file, which holds lists as of their last sync, and the changes of each sync.

    Reading it needs no client. A sync does not disturb a reader, which sees the mirror as it was when reading began.

    Args:
        path: The file that `Client.sync` or `talentdata sync` has written.

    Raises:
        talentdata.PathError: There is no mirror, or it must not be read.
    """

    __slots__ = ("_mirror", "_path")

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._mirror = RawMirror(path)

    @property
    def resources(self) -> list[str]:
        """The names of its lists."""
        return self._mirror.resources()

    @property
    def syncs(self) -> list[SyncReceipt]:
        """The receipts of the syncs of all lists that the mirror keeps, the oldest first."""
        found: list[tuple[datetime.datetime, SyncReceipt]] = []
        for name in self.resources:
            syncs = [SyncReceipt(raw) for raw in self._mirror.syncs(name)]
            # Syncs of a list keep their order even if the clock was set back between them.
            found += zip(itertools.accumulate((sync.ended for sync in syncs), max), syncs)
        return [sync for _, sync in sorted(found, key=lambda pair: pair[0])]

    def changes(
        self,
        resource: str,
        since: int | str | datetime.datetime = 0,
        *,
        columns: Literal["typed", "json"] = "typed",
        schema: str | os.PathLike[str] | pyarrow.Schema | Record | None = None,
        on_new_field: Literal["keep", "freeze", "fail"] = "keep",
    ) -> Rows:
        """The changes after sync `since`, from the oldest change to the newest.

        The rows have the columns `_generation`, `_op` (`insert`, `update`, `delete`, `missing` or `reappeared`), `_key`
        (the record's `id` as text), `_last_seen` and `_seen`, and those of the record: the new one, or for `delete` and
        `missing` the last known one. To keep a copy, store `Rows.bookmark` with the rows. Loading the same changes
        twice does no harm.

        Args:
            resource: The list.
            since: The bookmark of the sync that was loaded last, or a time as in `as_of`; 0 for all changes. The number
                of a sync is accepted only if it is unambiguous: in a mirror that was never copied or restored.
            columns: The types of the columns of the record, as for `list`.
            schema: The columns of the record, as for `list`; by default those of the mirror, whose types stay as its
                first syncs have decided them.
            on_new_field: The treatment of fields without a column, and of values that do not fit the type of their
                column: `"keep"` keeps them in `_extra` and warns in the log, `"freeze"` only keeps them in `_extra`,
                and `"fail"` is an error when the first one is read.

        Raises:
            talentdata.MismatchError: The sync is of another history, changes after it are no longer kept, or its number
                alone may be that of another sync. Then load the whole list again: `current`.
            talentdata.InvalidArgumentError: The mirror does not have the list, or no such sync yet.
        """
        options = {"columns": columns, "schema": schema, "on_new_field": on_new_field}
        return Rows(self._mirror.rows(resource, moment("since", since), None, options))

    def current(
        self,
        resource: str,
        *,
        columns: Literal["typed", "json"] = "typed",
        schema: str | os.PathLike[str] | pyarrow.Schema | Record | None = None,
        on_new_field: Literal["keep", "freeze", "fail"] = "keep",
    ) -> Rows:
        """The list as of the last sync, including missing records whose deletion is not proven.

        Args:
            resource: The list.
            columns: See `changes`, like the following arguments.
            schema: See `changes`.
            on_new_field: See `changes`.

        Raises:
            talentdata.InvalidArgumentError: The mirror does not have the list.
        """
        options = {"columns": columns, "schema": schema, "on_new_field": on_new_field}
        return Rows(self._mirror.rows(resource, None, None, options))

    def as_of(
        self,
        resource: str,
        at: int | str | datetime.datetime,
        *,
        columns: Literal["typed", "json"] = "typed",
        schema: str | os.PathLike[str] | pyarrow.Schema | Record | None = None,
        on_new_field: Literal["keep", "freeze", "fail"] = "keep",
    ) -> Rows:
        """The list as a sync has read it.

        Args:
            resource: The list.
            at: The bookmark or the number of a sync, or a time, as RFC 3339 text or a `datetime` with a time zone. A
                time selects the last sync that had ended by then.
            columns: See `changes`, like the following arguments.
            schema: See `changes`.
            on_new_field: See `changes`.

        Raises:
            talentdata.InvalidArgumentError: There was no such sync, it is no longer kept, or the clock was set back, so
                that the time does not identify one sync.
        """
        options = {"columns": columns, "schema": schema, "on_new_field": on_new_field}
        return Rows(self._mirror.rows(resource, None, moment("at", at), options))

    def verify(self) -> list[str]:
        """Reads the whole mirror and compares it with the digests of the syncs. Returns the differences, if any."""
        return self._mirror.verify()

    def forget(self, resource: str) -> None:
        """Removes a list, with its history.

        Raises:
            talentdata.BusyError: A sync is writing to the mirror.
            talentdata.InvalidArgumentError: The mirror does not have the list.
        """
        forget(self._path, resource)

    def __repr__(self) -> str:
        return f"Mirror({self._path!r})"


def verify(path: str | os.PathLike[str], receipt: Receipt | str | os.PathLike[str]) -> Verification:
    """Checks a file against its export receipt: its bytes must be those that were written.

    Args:
        path: The file. It may have been renamed since.
        receipt: The receipt that `export` has returned, or a file that `talentdata export --receipt` has written. From
            a file of several receipts, the one of a file of this name is used.

    Raises:
        talentdata.PathError: A file cannot be read.
        talentdata.InvalidArgumentError: It is not a receipt, or not one of a complete export.
    """
    if isinstance(receipt, Record):
        return Verification(_talentdata.verify(path, receipt.json, None))
    return Verification(_talentdata.verify(path, None, receipt))


def moment(name: str, at: int | str | datetime.datetime) -> str:
    """Returns a sync or a time as text for the native module."""
    if isinstance(at, datetime.datetime):
        if at.tzinfo is None:
            raise InvalidArgumentError(f"{name}: a time needs a time zone, such as datetime.timezone.utc")
        return at.isoformat()
    return str(at)
