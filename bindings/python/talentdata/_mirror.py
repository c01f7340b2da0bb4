"""Reads mirrors: a list as of the last sync or an earlier one, and the changes of each sync. Verifies exported files."""

from __future__ import annotations

import datetime
import itertools
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from . import _display, _frames, _talentdata
from ._error import Error
from ._errors import InvalidArgumentError
from ._results import Receipt, SyncReceipt, Verification
from ._talentdata import RawMirror, RawRows, Record, acknowledge, erase, forget

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


_Frame = TypeVar("_Frame")


class Rows:
    """Rows of a mirror, for all readers of the Arrow PyCapsule protocol: pyarrow, polars, DuckDB.

    You can read the rows any number of times, also with several readers at once. The first read returns the rows as of
    the time when this object was created. Each further read reads the mirror again.
    """

    __slots__ = ("_rows", "_what")

    def __init__(self, rows: RawRows, what: str) -> None:
        self._rows = rows
        self._what = what

    @property
    def bookmark(self) -> str:
        """The bookmark of the last sync when this object was created, or of the sync that `as_of` selected.

        The bookmark exists even if there are no rows. Store it in the transaction that loads the rows, and pass it to
        `Mirror.changes` the next time. The metadata of the Arrow schema contains it as `talentdata.bookmark`.
        """
        return self._rows.bookmark

    def to_arrow(self) -> pyarrow.Table:
        """Returns all rows as a table of pyarrow. Needs the package pyarrow."""
        return self._logged(_frames.to_arrow())

    def to_polars(self) -> polars.DataFrame:
        """Returns all rows as a data frame of polars. Needs the package polars."""
        return self._logged(_frames.to_polars())

    def to_pandas(self, *, dtype_backend: Literal["pyarrow", "numpy_nullable"] | None = None) -> pandas.DataFrame:
        """Returns all rows as a data frame of pandas, with the types of `Scan.to_pandas`. Needs pandas and pyarrow."""
        return self._logged(_frames.to_pandas(dtype_backend))

    def _logged(self, read: Callable[[Rows], _Frame]) -> _Frame:
        """Reads the rows, and passes the messages of the read to the logger."""
        try:
            return read(self)
        finally:
            self._rows.deliver_log()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Returns a stream of the rows, by the Arrow PyCapsule protocol."""
        return self._rows.stream()

    def __repr__(self) -> str:
        return f"<rows: {self._what}, bookmark {self.bookmark}; to_arrow(), to_polars() or to_pandas() read them>"


class Mirror:
    """A mirror: one SQLite file with lists as of their last sync, and the changes of each sync.

    You need no client to read a mirror. A reader sees the mirror as of the time when the read began, even while a sync
    writes to it. It has what its syncs stored: the setting `lists` is not applied again.

    Args:
        path: The file that `Client.sync` or `talentdata sync` wrote.

    Raises:
        talentdata.PathError: The file does not exist, is not a mirror, or must not be read.
    """

    __slots__ = ("_mirror", "_path")

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._mirror = RawMirror(path)

    @property
    def resources(self) -> list[str]:
        """The names of the lists in the mirror."""
        return self._mirror.resources()

    @property
    def syncs(self) -> list[SyncReceipt]:
        """The receipts of the kept syncs of all lists, oldest first."""
        found: list[tuple[datetime.datetime, SyncReceipt]] = []
        for name in self.resources:
            syncs = [SyncReceipt(raw) for raw in self._mirror.syncs(name)]
            # Syncs of a list keep their order even if the clock was set back between them.
            found += zip(itertools.accumulate((sync.ended for sync in syncs), max), syncs)
        return [sync for _, sync in sorted(found, key=lambda pair: pair[0])]

    def changes(
        self,
        resource: str,
        since: int | str | datetime.date | datetime.timedelta = 0,
        *,
        before: bool = False,
        columns: Literal["typed", "json"] = "typed",
        schema: str | os.PathLike[str] | pyarrow.Schema | Record | None = None,
        on_new_field: Literal["keep", "freeze", "fail"] = "keep",
        batch_rows: int = 4096,
    ) -> Rows:
        """Returns the changes after sync `since`, oldest first.

        The rows have the columns `_generation`, `_op` (`insert`, `update`, `delete`, `missing`, `reappeared` or
        `erased`), `_key` (the record's `id` as text), `_last_seen`, `_seen` and `_changed` (for `update` the names of
        the fields that differ, as a JSON array), and the columns of the record. The record is the new version, or for
        `delete` and `missing` the last known version. For an erased record, only the key is left. To keep a copy, store
        `Rows.bookmark` with the rows. You may load the same changes twice.

        Args:
            resource: The list.
            since: The bookmark of the sync that you loaded last, or a time as in `as_of`; 0 for all changes. The number
                of a sync is accepted only in a mirror that was never copied or restored, because it may be ambiguous in
                others.
            before: Add the column `_before` with the version before an update, as JSON.
            columns: The types of the columns of the record, as for `list`.
            schema: The columns of the record, as for `list`; by default the columns of the mirror. The first syncs
                decide their types, which do not change.
            on_new_field: The treatment of fields without a column, and of values that do not fit the type of their
                column: `"keep"` keeps them in `_extra` and warns in the log, `"freeze"` only keeps them in `_extra`,
                and `"fail"` is an error when the first one is read.
            batch_rows: The rows of each record batch, as for `list`.

        Raises:
            talentdata.MismatchError: The sync belongs to another history, changes after it are no longer kept, or its
                number is ambiguous. Load the whole list again with `current`.
            talentdata.InvalidArgumentError: The mirror does not have the list, or does not have such a sync yet.
        """
        options = _options(columns, schema, on_new_field, batch_rows) | {"before": before}
        point = moment(since)
        what = f"changes of {resource}" if point == "0" else f"changes of {resource} after {point}"
        return Rows(self._mirror.rows(resource, "changes", point, options), what)

    def history(self, resource: str) -> Rows:
        """Returns a row for each kept sync of a list, oldest first.

        The columns are `generation` (the number of the sync), `started`, `ended`, `records`, `inserts`, `updates`,
        `deletes`, `reappeared`, `erased`, `missing` (the records that were not delivered but not proven to be gone),
        `withheld` (the withheld deletes, or null), `completeness`, `requests`, `seconds` and `bookmark`. `syncs` has the
        receipts.

        Args:
            resource: The list.

        Raises:
            talentdata.InvalidArgumentError: The mirror does not have the list.
        """
        return Rows(self._mirror.rows(resource, "history"), f"syncs of {resource}")

    def current(
        self,
        resource: str,
        *,
        missing: bool = True,
        columns: Literal["typed", "json"] = "typed",
        schema: str | os.PathLike[str] | pyarrow.Schema | Record | None = None,
        on_new_field: Literal["keep", "freeze", "fail"] = "keep",
        batch_rows: int = 4096,
    ) -> Rows:
        """Returns the list as of the last sync, including missing records whose deletion is not proven.

        The column `_missing_since` has the start of the last scan that delivered a missing record, and null for others.

        Args:
            resource: The list.
            missing: Whether to include the missing records.
            columns: See `changes`.
            schema: See `changes`.
            on_new_field: See `changes`.
            batch_rows: See `changes`.

        Raises:
            talentdata.InvalidArgumentError: The mirror does not have the list.
        """
        options = _options(columns, schema, on_new_field, batch_rows)
        what = "current" if missing else "present"
        return Rows(self._mirror.rows(resource, what, None, options), f"{resource} as of the last sync")

    def as_of(
        self,
        resource: str,
        at: int | str | datetime.date | datetime.timedelta,
        *,
        columns: Literal["typed", "json"] = "typed",
        schema: str | os.PathLike[str] | pyarrow.Schema | Record | None = None,
        on_new_field: Literal["keep", "freeze", "fail"] = "keep",
        batch_rows: int = 4096,
    ) -> Rows:
        """Returns the list as of an earlier sync.

        Args:
            resource: The list.
            at: The bookmark or the number of a sync, or a time, which selects the last sync that ended at or before
                it: text of RFC 3339, a `datetime`, a date such as `"2026-11-20"` or `"yesterday"`, which is the
                beginning of that day, or an age such as `"1d"` or a `timedelta`. A time without a time zone is in UTC.
            columns: See `changes`.
            schema: See `changes`.
            on_new_field: See `changes`.
            batch_rows: See `changes`.

        Raises:
            talentdata.InvalidArgumentError: The sync does not exist or is no longer kept, or the time does not identify
                one sync, because the clock was set back.
        """
        options = _options(columns, schema, on_new_field, batch_rows)
        point = moment(at)
        return Rows(self._mirror.rows(resource, "as_of", point, options), f"{resource} as of {point}")

    def verify(self) -> list[str]:
        """Reads the whole mirror and compares it with the digests of the syncs. Returns the differences, if any."""
        return self._mirror.verify()

    def forget(
        self,
        resource: str,
        *,
        records: Iterable[str] | None = None,
        announced: bool = True,
        keep_out: bool = False,
        hash_key: str | None = None,
    ) -> None:
        """Removes a list with its history, or erases single records with all their versions and changes.

        Afterwards no byte of the removed data is left in the files of the mirror. If the process ends too early, the
        next `forget` or sync completes the removal. If the service still lists an erased record, the next sync brings
        it back.

        Args:
            resource: The list.
            records: The ids of the records to erase; by default the whole list is removed. If no record has one of the
                ids, nothing is erased.
            announced: Report each erased record as a change `erased` with its key, so that copies can follow. The
                changes are kept until `acknowledge`, or until `keep` of a sync removes them.
            keep_out: Keep a keyed digest of each id, so that syncs do not store the record again. Their receipts count
                such records as `kept_out`.
            hash_key: If the list was synced with `id` in `hash`, the key, so that `records` can have the ids before they
                were hashed; by default that of the environment or the profile. Digests, as in `_key`, need no key.

        Raises:
            talentdata.BusyError: A sync is writing to the mirror, or a reader, such as `Rows` that were not read to
                their end, still needs the removed bytes.
            talentdata.InvalidArgumentError: The mirror does not have the list or one of the ids, or its records have no
                id; or `announced` or `keep_out` was given without `records`.
            talentdata.ConfigError: The ids are hashed, and there is no key.
            talentdata.MismatchError: The ids were hashed with another key.
        """
        if records is None and (keep_out or not announced):
            raise InvalidArgumentError("records: keep_out and announced apply to single records; give their ids")
        if records is None:
            forget(self._path, resource)
        elif isinstance(records, str):
            raise InvalidArgumentError("records: give a list of ids, also for one record")
        else:
            erase(self._path, resource, list(records), announced, keep_out, hash_key)

    def acknowledge(self, resource: str, up_to: int | str | datetime.datetime) -> None:
        """Removes the changes `erased` up to a sync. Call it after every copy of the list has applied them.

        Args:
            resource: The list.
            up_to: The bookmark that was stored with the changes, or another value as for `since` of `changes`.

        Raises:
            talentdata.MismatchError: The sync belongs to another history.
            talentdata.InvalidArgumentError: The mirror does not have the list, or does not have such a sync yet.
        """
        acknowledge(self._path, resource, moment(up_to))

    def __repr__(self) -> str:
        try:
            lists = ", ".join(self.resources) or "no lists"
        except Error as error:
            lists = type(error).__name__
        return f"<Mirror({self._path!r}): {lists}; current(), as_of(), changes() and history() read them>"

    def _repr_html_(self) -> str:
        head = ["list", "syncs", "last sync", "records", "missing", "completeness"]
        rows = []
        for name in self.resources:
            syncs = [SyncReceipt(raw) for raw in self._mirror.syncs(name)]
            last = syncs[-1]
            row = (name, len(syncs), last.ended, last.scan.records, last.missing, last.scan.completeness)
            rows.append(row)
        note = "current(), as_of(), changes() and history() read them; syncs has the receipts"
        return _display.table(f"Mirror {self._path}", head, rows, note)


def _options(columns: object, schema: object, on_new_field: object, batch_rows: object) -> dict[str, Any]:
    """Returns the options of a read that turns records into columns."""
    if isinstance(columns, (list, tuple)):
        message = (
            'columns: must be "typed" or "json", because a mirror returns all columns; select columns of the frame'
        )
        raise InvalidArgumentError(message)
    return {"columns": columns, "schema": schema, "on_new_field": on_new_field, "batch_rows": batch_rows}


def verify(path: str | os.PathLike[str], receipt: Receipt | str | os.PathLike[str]) -> Verification:
    """Checks a file against its export receipt: it must have the bytes that the export wrote.

    Args:
        path: The file. You may have renamed it since.
        receipt: The receipt that `export` returned, or a file that `talentdata export --receipt` wrote. If that file
            has several receipts, the receipt of a file with this name is used.

    Raises:
        talentdata.PathError: A file cannot be read.
        talentdata.InvalidArgumentError: `receipt` is not the receipt of a complete export.
    """
    if isinstance(receipt, Record):
        return Verification(_talentdata.verify(path, receipt.json, None))
    return Verification(_talentdata.verify(path, None, receipt))


def moment(at: int | str | datetime.date | datetime.timedelta) -> str:
    """Returns a sync or a time as text for the native module."""
    if isinstance(at, datetime.timedelta):
        at = datetime.datetime.now(datetime.timezone.utc) - at
    return at.isoformat() if isinstance(at, datetime.date) else str(at)
