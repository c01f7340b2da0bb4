"""Mirrors: a list as of the last sync, as it was, and what each sync has changed."""

from __future__ import annotations

import datetime
import os
from typing import TYPE_CHECKING, Any, Literal

from . import _frames
from ._errors import InvalidArgumentError
from ._html import grid, table
from ._receipt import Receipt
from ._talentdata import Field, RawMirror, RawRows, Record

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class SyncReceipt(Record):
    """What a sync of one list has done. `Client.sync` returns one for each list.

    >>> import os, talentdata, tempfile
    >>> with talentdata.Sandbox(records={"pools": 25}) as sandbox, sandbox.client() as client:
    ...     with tempfile.TemporaryDirectory() as directory:
    ...         [receipt] = client.sync(["pools"], os.path.join(directory, "mirror"))
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
        "second_look",
        "schema_changes",
        "scan",
    )

    generation: Field[int] = Field("generation", "integer", required=True)
    """The generation that it has committed."""
    started: Field[str] = Field("started", "text", required=True)
    """When its scan began: a time in UTC as in RFC 3339, by the clock of this machine."""
    ended: Field[str] = Field("ended", "text", required=True)
    """When its scan, and the second look at its deletes, had ended."""
    changes: Field[dict[str, int]] = Field("changes", "object", required=True)
    """Changes since the generation before, by operation: `insert`, `update`, `delete`, `missing` and `return`."""
    missing: Field[int] = Field("missing", "integer", required=True)
    """Records that the mirror has although they were not delivered, because nothing proves that they are gone."""
    second_look: Field[dict[str, int] | None] = Field("second_look", "object")
    """What a second look at its deletes has shown: `requests`, `confirmed`, `unconfirmed`; `None` where none was needed."""
    schema_changes: Field[list[dict[str, Any]]] = Field("schema_changes", "array", required=True)
    """Fields that are new, and values that their columns cannot hold."""
    scan: Field[Receipt] = Field("scan", "model", required=True, of=Receipt)
    """How the scan went."""

    def _repr_html_(self) -> str:
        return table(f"Sync of {self.scan.resource}", self.to_dict())


class Generation(Record):
    """A sync of a list, as a mirror knows it; see `Mirror.syncs`.

    >>> import os, talentdata, tempfile
    >>> with talentdata.Sandbox(records={"pools": 25}) as sandbox, sandbox.client() as client:
    ...     with tempfile.TemporaryDirectory() as directory:
    ...         path = os.path.join(directory, "mirror")
    ...         receipts = client.sync(["pools"], path)
    ...         [sync] = talentdata.Mirror(path).syncs
    >>> sync.receipt.resource, sync.generation, sync.records, sync.changes["insert"]
    ('pools', 1, 25, 25)
    """

    __slots__ = ()
    _documented = (
        "generation",
        "started",
        "ended",
        "records",
        "missing",
        "changes",
        "receipt",
        "second_look",
        "changes_file",
        "rewritten_file",
        "order_file",
    )

    generation: Field[int] = Field("generation", "integer", required=True)
    """Its number, from 1 for each list."""
    started: Field[str] = Field("started", "text", required=True)
    """When its scan began: a time in UTC as in RFC 3339, by the clock of the machine that ran it."""
    ended: Field[str] = Field("ended", "text", required=True)
    """When its scan, and the second look at its deletes, had ended."""
    records: Field[int] = Field("records", "integer", required=True)
    """Records delivered."""
    missing: Field[int] = Field("missing", "integer", required=True)
    """Records that the mirror has beside them, because nothing proves that they are gone."""
    changes: Field[dict[str, int]] = Field("changes", "object", required=True)
    """Changes since the generation before, by operation."""
    receipt: Field[Receipt] = Field("receipt", "model", required=True, of=Receipt)
    """How the scan went."""
    second_look: Field[dict[str, int] | None] = Field("second_look", "object")
    """What a second look at its deletes has shown; `None` where none was needed."""
    changes_file: Field[dict[str, Any] | None] = Field("changes_file", "object")
    """The file of its changes; `None` once they are no longer kept."""
    rewritten_file: Field[dict[str, Any] | None] = Field("rewritten_file", "object")
    """The file of records that say the same and are written otherwise; `None` where there are none."""
    order_file: Field[dict[str, Any]] = Field("order_file", "object", required=True)
    """The file that says where its records are."""


class Rows:
    """Rows of a mirror, for whoever speaks the Arrow PyCapsule protocol: pyarrow, polars, DuckDB.

    They can be read any number of times, by several readers at once; each reads the files of the mirror anew.

    >>> import os, polars, talentdata, tempfile
    >>> with talentdata.Sandbox(records={"pools": 25}) as sandbox, sandbox.client() as client:
    ...     with tempfile.TemporaryDirectory() as directory:
    ...         path = os.path.join(directory, "mirror")
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
        """The rows as they are read, for whoever speaks the Arrow PyCapsule protocol."""
        return self._rows.__arrow_c_stream__(requested_schema)


class Mirror:
    """A mirror as the last sync has left it. Reading it needs no client, and is never disturbed by a sync.

    What later syncs do is not seen; make another `Mirror` for that.

    Args:
        path: The directory that `Client.sync` or `talentdata sync` has written.

    Raises:
        talentdata.IoError: There is no mirror, or it cannot be read.

    >>> import os, talentdata, tempfile
    >>> with talentdata.Sandbox(records={"pools": 25}) as sandbox, sandbox.client() as client:
    ...     with tempfile.TemporaryDirectory() as directory:
    ...         path = os.path.join(directory, "mirror")
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
    def syncs(self) -> list[Generation]:
        """The syncs that it knows, of all lists, the oldest first."""
        found = [Generation(raw) for name in self.resources for raw in self._mirror.generations(name)]
        return sorted(found, key=lambda sync: sync.ended)

    def changes(self, resource: str, since: int = 0) -> Rows:
        """What has changed after generation `since`, from the oldest change to the newest.

        The columns `_generation`, `_op` (`insert`, `update`, `delete`, `missing` or `return`), `_key` (the record's
        `id` as text), `_last_seen` and `_seen`, and those of the record: the new one, or for `delete` and `missing` the
        last that is known. A delete is proven: the record was absent at some instant between the two times. Whoever
        follows a mirror remembers the generation that was loaded last; to load one twice does no harm (see `merge_sql`).

        Args:
            resource: The list.
            since: The generation that was loaded last; 0 for all changes.

        Raises:
            talentdata.InvalidArgumentError: The mirror does not have the list, there is no such generation yet, or
                changes after it are no longer kept.
        """
        return Rows(self._mirror.changes(resource, since))

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
            at: The number of a generation, or a time, as text of RFC 3339 or with a time zone: then the last sync that had
                ended by then counts.

        Raises:
            talentdata.InvalidArgumentError: There was no such sync, or it is no longer kept.
        """
        if isinstance(at, datetime.datetime):
            if at.tzinfo is None:
                raise InvalidArgumentError("at: a time needs a time zone, such as datetime.timezone.utc")
            at = at.isoformat()
        return Rows(self._mirror.as_of(resource, str(at)))

    def __repr__(self) -> str:
        return f"Mirror({self._path!r})"

    def _repr_html_(self) -> str:
        names = ("list", "generation", "ended", "records", "insert", "update", "delete", "missing", "return")
        rows = (
            (sync.receipt.resource, sync.generation, sync.ended, sync.records, *map(sync.changes.get, names[4:]))
            for sync in self.syncs
        )
        return grid(f"Mirror {self._path}", names, rows)
