"""Data frames from the columns of a scan. Made before the scan begins, so that a missing package is reported before an hour is
spent."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._errors import InvalidArgumentError
from ._json import need

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from ._mirror import Rows
    from ._talentdata import Table


def to_arrow() -> Callable[[Table | Rows], pyarrow.Table]:
    """What turns rows into a table of pyarrow, without copying them."""
    pyarrow = need("pyarrow", "to_arrow()")
    return lambda table: pyarrow.table(table)


def to_polars() -> Callable[[Table | Rows], polars.DataFrame]:
    """What turns rows into a data frame of polars."""
    polars = need("polars", "to_polars()")
    return lambda table: polars.DataFrame(table)


def to_pandas(dtype_backend: str | None) -> Callable[[Table | Rows], pandas.DataFrame]:
    """What turns rows into a data frame of pandas; whole numbers and booleans stay exact beside empty cells."""
    pandas, pyarrow = need("pandas", "to_pandas()"), need("pyarrow", "to_pandas()")
    exact: dict[Any, Any] = {
        pyarrow.int64(): pandas.Int64Dtype(),
        pyarrow.uint64(): pandas.UInt64Dtype(),
        pyarrow.bool_(): pandas.BooleanDtype(),
    }
    if dtype_backend == "pyarrow":
        return lambda table: pyarrow.table(table).to_pandas(types_mapper=pandas.ArrowDtype)
    if dtype_backend == "numpy_nullable":
        exact |= {pyarrow.float64(): pandas.Float64Dtype(), pyarrow.string(): pandas.StringDtype()}
    elif dtype_backend is not None:
        raise InvalidArgumentError("dtype_backend: it is not one of: pyarrow, numpy_nullable, None")
    return lambda table: pyarrow.table(table).to_pandas(types_mapper=exact.get)
