"""The statement that applies the changes of a mirror to a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from . import _talentdata


def merge_sql(dialect: Literal["duckdb", "postgresql", "delta"], table: str, columns: Iterable[str]) -> str:
    """The statement that applies the changes of a mirror to a table of a database.

    The changes stand in a relation called `changes`, with the columns that a mirror gives them; the table has the column
    `_key` and those of `columns`. Inserted, updated and returned records are written, deleted ones are removed, and
    missing ones stay as they are. Of several generations the newest change of a record counts. Generations are applied
    in their order; applied twice, they do no harm.

    For Delta it is JSON for `deltalake.DeltaTable.merge`: under `merge` its arguments beside the source, then the
    arguments of each method of what it returns. The source must hold a single generation.

        steps = json.loads(talentdata.merge_sql("delta", "contacts", columns))
        merge = table.merge(changes, **steps.pop("merge"))
        for step, arguments in steps.items():
            merge = getattr(merge, step)(**arguments)
        merge.execute()

    Args:
        dialect: `"duckdb"` (from 1.4), `"postgresql"` (from 15) or `"delta"` (the package `deltalake`).
        table: The table; it may be qualified, as in `"warehouse.contacts"`. For Delta it is passed over.
        columns: The columns of the table. `_key` and the other columns of changes that are not the record's own may be
            among them, so that all columns of the changes can be given.

    Raises:
        talentdata.InvalidArgumentError: A name is empty, or the database cannot tell it from another one.

    >>> import talentdata
    >>> print(talentdata.merge_sql("duckdb", "contacts", ["id", "email"]).splitlines()[0])
    MERGE INTO "contacts" AS target
    """
    return _talentdata.merge_sql(dialect, table, list(columns))
