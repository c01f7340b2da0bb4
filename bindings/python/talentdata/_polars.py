"""Lists as lazy frames of polars."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Literal

from ._client import Client
from ._engines import Unproven, arrow_schema, batches, checked, open_scan
from ._list import List
from ._optional import need
from ._talentdata import Record, list_name

if TYPE_CHECKING:
    import polars
    import pyarrow


def scan_polars(
    resource: str,
    *,
    client: Client | None = None,
    page_size: int | None = None,
    columns: Literal["typed", "json"] = "typed",
    schema: pyarrow.Schema | None = None,
    unproven: Unproven = "fail",
) -> polars.LazyFrame:
    """Returns a list as a lazy frame of polars. Needs the packages polars and pyarrow.

    The list is read each time that the frame is collected. Only the columns that a query uses are kept, and `head(n)`
    reads no more pages than it needs. Filters are applied as the rows arrive.

    Args:
        resource: The list, such as `"contacts"`.
        client: The client that reads it; by default one with the settings of the environment.
        page_size: See `List.list`.
        columns: See `List.list`.
        schema: The columns; by default this call infers them from the first 1,000 records.
        unproven: The reaction when the whole list has been read but its completeness is not proven: `"fail"`
            raises an `IncompleteError`, `"warn"` issues an `IncompleteWarning`, and `"accept"` does neither.
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
        # The size that polars suggests is ignored: a batch has the rows that the scan delivers at once.
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
    """Returns the column `_extra`, for values that fit no other column."""
    return schema.field("_extra") if "_extra" in schema.names else arrow.field("_extra", arrow.string())
