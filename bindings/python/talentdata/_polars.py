"""What engines that read lists have in common, and lists as lazy frames of polars."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from ._client import Client
from ._errors import InvalidArgumentError
from ._json import need
from ._list import List, Scan
from ._talentdata import Record, list_name
from ._warning import warn

if TYPE_CHECKING:
    import polars
    import pyarrow

Unproven = Literal["fail", "warn", "accept"]


def arrow_schema(resource: List[Any], columns: Literal["typed", "json"]) -> pyarrow.Schema:
    """The columns of a list, `_extra` included, from its first 1,000 records."""
    pyarrow = need("pyarrow", "the columns of a list")
    with resource.list(columns=columns, progress=False) as scan:
        return pyarrow.RecordBatchReader.from_stream(scan).schema


def checked(unproven: str) -> Unproven:
    """The option `unproven`, before anything is sent."""
    if unproven not in get_args(Unproven):
        raise InvalidArgumentError(f"unproven: {unproven!r} is not one of {', '.join(get_args(Unproven))}")
    return cast(Unproven, unproven)


def open_scan(resource: List[Any], unproven: Unproven, **options: Any) -> Scan[Any]:
    """A scan for `batches`, which issues the warning on its own: the thread of an engine that runs it may have no other way."""
    return resource.list(progress=False, unproven="accept" if unproven == "warn" else unproven, **options)


def batches(scan: Scan[Any], unproven: Unproven) -> Iterator[pyarrow.RecordBatch]:
    """The rows of a scan as they come. Errors are those of the scan."""
    pyarrow = need("pyarrow", "reading a list")
    with scan:
        try:
            yield from pyarrow.RecordBatchReader.from_stream(scan)
        except Exception:
            scan._scan.check()
            raise
        if unproven == "warn":
            warn(scan._scan.shortfall())


def scan_polars(
    resource: str,
    *,
    client: Client | None = None,
    page_size: int | None = None,
    columns: Literal["typed", "json"] = "typed",
    schema: pyarrow.Schema | None = None,
    unproven: Unproven = "fail",
) -> polars.LazyFrame:
    """A list as a lazy frame of polars, read each time when it is collected; needs the packages polars and pyarrow.

    Only the columns that a query uses are kept, and `head(n)` reads no more pages than it needs. Filters are applied as the
    rows come.

    Args:
        resource: The list, such as `"contacts"`.
        client: The client that reads it; by default one with the settings of the environment.
        page_size: See `List.list`.
        columns: See `List.list`.
        schema: The columns; by default they are decided from the first 1,000 records when this is called.
        unproven: What happens when the whole list was read and it is not proven that every record came: `"fail"`
            raises an `IncompleteError`, `"warn"` issues an `IncompleteWarning`, `"accept"` does neither.
    """
    pl, arrow = need("polars", "scan_polars()"), need("pyarrow", "scan_polars()")
    plugins = need("polars.io.plugins", "scan_polars()")
    resource, unproven = list_name(resource), checked(unproven)

    def connected() -> Any:
        return nullcontext(client) if client is not None else Client()

    if schema is None:
        with connected() as connection:
            schema = arrow_schema(List(connection, resource, Record), columns)
    given = arrow.schema([field for field in schema if field.name != "_extra"], schema.metadata)

    def read(
        with_columns: list[str] | None,
        predicate: polars.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[polars.DataFrame]:
        # The service decides how many rows come at a time.
        del batch_size
        if n_rows == 0:
            return
        with connected() as connection:
            of = List(connection, resource, Record)
            options = {"page_size": page_size, "schema": given, "on_new_field": "freeze", "limit": n_rows}
            for batch in batches(open_scan(of, unproven, **options), unproven):
                rows = pl.DataFrame(batch if with_columns is None else batch.select(with_columns))
                yield rows if predicate is None else rows.filter(predicate)

    fields = [*given, extra(arrow, schema)]
    empty = arrow.table({field.name: arrow.array([], field.type) for field in fields})
    frame: polars.LazyFrame = plugins.register_io_source(read, schema=pl.DataFrame(empty).schema)
    return frame


def extra(arrow: Any, schema: pyarrow.Schema) -> pyarrow.Field[Any]:
    """The column of what fits no other."""
    return schema.field("_extra") if "_extra" in schema.names else arrow.field("_extra", arrow.string())
