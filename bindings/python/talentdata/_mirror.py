"""Mirrors: a list as of the last sync, as it was, and what each sync has changed."""

from __future__ import annotations

import datetime
import os
from typing import TYPE_CHECKING, Any, Literal

from . import _frames
from ._errors import InvalidArgumentError
from ._html import grid, table
from ._receipt import Receipt
from ._talentdata import Field, RawMirror, RawRows, Record, forget

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class SyncReceipt(Record):
    """What a sync of one list has done. `Client.sync` returns one for each list.

    >>> import os, talentdata, tempfile
    >>> with talentdata.Sandbox(records={"pools": 25}) as sandbox, sandbox.client() as client:
    ...     with tempfile.TemporaryDirectory() as directory:
    ...         [receipt] = client.sync(["pools"], os.path.join(directory, "mirror.db"))
    >>> receipt.generation, receipt.changes["insert"], receipt.scan.completeness
    (1, 25, Completeness('proven'))
    """

    __slots__ = ()
    _documented = (
        "generation",
        "started",
        "ended",
        "changes",
        "missing",
        "withheld",
        "confirms",
        "shortfall",
        "scan",
    )

    generation: Field[int] = Field("generation", "integer", required=True)
    """Its number: the syncs of a list are counted from 1."""
    started: Field[str] = Field("started", "text", required=True)
    """When its scan began: a time in UTC as in RFC 3339, by the clock of this machine."""
    ended: Field[str] = Field("ended", "text", required=True)
    """When its scan had ended."""
    changes: Field[dict[str, int]] = Field("changes", "object", required=True)
    """Changes since the sync before, by operation: `insert`, `update`, `delete`, `missing` and `reappeared`."""
    missing: Field[int] = Field("missing", "integer", required=True)
    """Records that the mirror has although they were not delivered, because nothing proves that they are gone."""
    withheld: Field[dict[str, int] | None] = Field("withheld", "object")
    """Deletes that are too many to be believed: `deletes`, and the `records` that the mirror had. `None` where none were."""
    confirms: Field[dict[str, Any] | None] = Field("confirms", "object")
    """What the sync right before has done, whose missing records this one has confirmed or found; see `confirm`."""
    shortfall: Field[str | None] = Field("shortfall", "text")
    """Why the mirror may lack changes, in words; `None` where all is proven."""
    scan: Field[Receipt] = Field("scan", "model", required=True, of=Receipt)
    """How the scan went."""

    def _repr_html_(self) -> str:
        return table(f"Sync of {self.scan.resource}", self.to_dict())


class Rows:
    """Rows of a mirror, for all that read the Arrow PyCapsule protocol: pyarrow, polars, DuckDB.

    They can be read any number of times, by several readers at once; each reads the mirror anew.

    >>> import os, polars, talentdata, tempfile
    >>> with talentdata.Sandbox(records={"pools": 25}) as sandbox, sandbox.client() as client:
    ...     with tempfile.TemporaryDirectory() as directory:
    ...         path = os.path.join(directory, "mirror.db")
    ...         receipts = client.sync(["pools"], path)
    ...         rows = talentdata.Mirror(path).current("pools")
    ...         len(rows.to_polars()), rows.to_arrow().num_rows, len(polars.DataFrame(rows))
    (25, 25, 25)
    """

    __slots__ = ("_rows",)

    def __init__(self, rows: RawRows) -> None:
        self._rows = rows

    def to_arrow(self) -> pyarrow.Table:
        """All rows as a table of pyarrow; needs the package pyarrow."""
        return _frames.to_arrow()(self._rows)

    def to_polars(self) -> polars.DataFrame:
        """All rows as a data frame of polars; needs the package polars."""
        return _frames.to_polars()(self._rows)

    def to_pandas(self, *, dtype_backend: Literal["pyarrow", "numpy_nullable"] | None = None) -> pandas.DataFrame:
        """All rows as a data frame of pandas, with the types of `Scan.to_pandas`; needs pandas and pyarrow."""
        return _frames.to_pandas(dtype_backend)(self._rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as they are read, by the Arrow PyCapsule protocol."""
        return self._rows.__arrow_c_stream__(requested_schema)


class Mirror:
    """A mirror: one SQLite file, which holds lists as of their last sync, and what each sync has changed.

    Reading it needs no client, and is not disturbed by a sync: what is being read stays as it was when reading began.

    Args:
        path: The file that `Client.sync` or `talentdata sync` has written.

    Raises:
        talentdata.IoError: There is no mirror, or it cannot be read.

    >>> import os, talentdata, tempfile
    >>> with talentdata.Sandbox(records={"pools": 25}) as sandbox, sandbox.client() as client:
    ...     with tempfile.TemporaryDirectory() as directory:
    ...         path = os.path.join(directory, "mirror.db")
    ...         receipts = client.sync(["pools"], path)
    ...         sandbox.change("pools", delete=1)
    ...         receipts = client.sync(["pools"], path)
    ...         mirror = talentdata.Mirror(path)
    ...         changes = mirror.changes("pools", since=1).to_arrow()
    ...         then, now = mirror.as_of("pools", 1).to_arrow(), mirror.current("pools").to_arrow()
    >>> changes["_op"].to_pylist(), then.num_rows, now.num_rows
    (['delete'], 25, 24)
    """

    __slots__ = ("_mirror", "_path")

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._mirror = RawMirror(path)

    @property
    def resources(self) -> list[str]:
        """The lists that it has."""
        return self._mirror.resources()

    @property
    def syncs(self) -> list[SyncReceipt]:
        """What the syncs have done that are kept, of all lists, the oldest first."""
        found = [SyncReceipt(raw) for name in self.resources for raw in self._mirror.syncs(name)]
        return sorted(found, key=lambda sync: sync.ended)

    def changes(self, resource: str, since: int | str | datetime.datetime = 0) -> Rows:
        """What has changed after sync `since`, from the oldest change to the newest.

        The columns `_generation`, `_op` (`insert`, `update`, `delete`, `missing` or `reappeared`), `_key` (the record's
        `id` as text), `_last_seen` and `_seen`, and those of the record: the new one, or for `delete` and `missing` the
        last that is known. To keep a copy, remember the generation that was loaded last; to load one twice does no harm.

        Args:
            resource: The list.
            since: The sync that was loaded last, by its number, or a time as in `as_of`; 0 for all changes.

        Raises:
            talentdata.InvalidArgumentError: The mirror does not have the list, there is no such sync yet, or changes
                after it are no longer kept.
        """
        return Rows(self._mirror.changes(resource, moment("since", since)))

    def current(self, resource: str) -> Rows:
        """The list as of the last sync, with records that are missing without a proof that they are gone.

        Raises:
            talentdata.InvalidArgumentError: The mirror does not have the list.
        """
        return Rows(self._mirror.current(resource))

    def as_of(self, resource: str, at: int | str | datetime.datetime) -> Rows:
        """The list as a sync has read it.

        Args:
            resource: The list.
            at: The number of a sync, or a time, as text of RFC 3339 or with a time zone: then the last sync that had
                ended by then counts.

        Raises:
            talentdata.InvalidArgumentError: There was no such sync, or it is no longer kept.
        """
        return Rows(self._mirror.as_of(resource, moment("at", at)))

    def verify(self) -> list[str]:
        """Reads everything and compares it with what the syncs have written down of it: what is wrong; nothing as a rule."""
        return self._mirror.verify()

    def forget(self, resource: str) -> None:
        """Removes a list, with all that is kept of it.

        Raises:
            talentdata.IoError: A sync is writing to the mirror.
            talentdata.InvalidArgumentError: The mirror does not have the list.
        """
        forget(self._path, resource)

    def __repr__(self) -> str:
        return f"Mirror({self._path!r})"

    def _repr_html_(self) -> str:
        names = ("list", "generation", "ended", "records", "insert", "update", "delete", "missing", "reappeared")
        rows = (
            (sync.scan.resource, sync.generation, sync.ended, sync.scan.records, *map(sync.changes.get, names[4:]))
            for sync in self.syncs
        )
        return grid(f"Mirror {self._path}", names, rows)


def moment(name: str, at: int | str | datetime.datetime) -> str:
    """A sync as the native module takes it."""
    if isinstance(at, datetime.datetime):
        if at.tzinfo is None:
            raise InvalidArgumentError(f"{name}: a time needs a time zone, such as datetime.timezone.utc")
        return at.isoformat()
    return str(at)
