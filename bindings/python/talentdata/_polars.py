"""What engines that read lists have in common, and lists as lazy frames of polars."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Literal

from ._client import Client
from ._json import need
from ._list import Resource, Scan
from ._record import require_proven
from ._talentdata import Record, list_name

if TYPE_CHECKING:
    import polars
    import pyarrow


def arrow_schema(resource: Resource[Any], columns: Literal["typed", "json"]) -> pyarrow.Schema:
    """The columns of a list, `_extra` included, from its first 1,000 records."""
    pyarrow = need("pyarrow", "the columns of a list")
    with resource.list(columns=columns, progress=False) as scan:
        return pyarrow.RecordBatchReader.from_stream(scan).schema


def batches(scan: Scan[Any], unproven: Literal["fail", "accept"]) -> Iterator[pyarrow.RecordBatch]:
    """The rows of a scan as they come; at its end an `IncompleteError` unless they are proven to be all."""
    pyarrow = need("pyarrow", "reading a list")
    with scan:
        yield from pyarrow.RecordBatchReader.from_stream(scan)
        if unproven != "accept":
            require_proven(scan.receipt, "; read it again, or accept it with unproven='accept'")


def scan_polars(
    resource: str,
    *,
    client: Client | None = None,
    page_size: int | None = None,
    columns: Literal["typed", "json"] = "typed",
    schema: pyarrow.Schema | None = None,
    unproven: Literal["fail", "accept"] = "fail",
) -> polars.LazyFrame:
    """A list as a lazy frame of polars, read each time when it is collected; needs the packages polars and pyarrow.

    Only the columns that a query uses are kept, and `head(n)` reads no more pages than it needs. Filters are applied as the
    rows come.

    Args:
        resource: The list, such as `"contacts"`.
        client: The client that reads it; by default one with the settings of the environment.
        page_size: See `Resource.list`.
        columns: See `Resource.list`.
        schema: The columns; by default they are decided from the first 1,000 records when this is called.
        unproven: What happens when the whole list was read and it is not proven that every record was: `"fail"` raises
            an `IncompleteError`, `"accept"` goes on.
    """
    pl, arrow = need("polars", "scan_polars()"), need("pyarrow", "scan_polars()")
    plugins = need("polars.io.plugins", "scan_polars()")
    resource = list_name(resource)

    def connected() -> Any:
        return nullcontext(client) if client is not None else Client()

    if schema is None:
        with connected() as connection:
            schema = arrow_schema(Resource(connection, resource, Record), columns)
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
            scan = Resource(connection, resource, Record).list(
                page_size=page_size, schema=given, on_new_field="freeze", limit=n_rows, progress=False
            )
            # A scan that was told to stop early proves nothing, and need not.
            for batch in batches(scan, "accept" if n_rows is not None else unproven):
                rows = pl.DataFrame(batch if with_columns is None else batch.select(with_columns))
                yield rows if predicate is None else rows.filter(predicate)

    fields = [*given, extra(arrow, schema)]
    empty = arrow.table({field.name: arrow.array([], field.type) for field in fields})
    frame: polars.LazyFrame = plugins.register_io_source(read, schema=pl.DataFrame(empty).schema)
    return frame


def extra(arrow: Any, schema: pyarrow.Schema) -> pyarrow.Field[Any]:
    """The column of what fits no other."""
    return schema.field("_extra") if "_extra" in schema.names else arrow.field("_extra", arrow.string())
