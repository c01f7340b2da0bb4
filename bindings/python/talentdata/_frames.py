"""Conversions of the columns of a scan to data frames.

A conversion is chosen before the scan begins, so that a missing package is reported at once and not after an hour.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ._errors import InvalidArgumentError
from ._optional import need

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class ArrowStream(Protocol):
    """Rows that implement the Arrow PyCapsule protocol: a table, or rows of a mirror."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


def to_arrow() -> Callable[[ArrowStream], pyarrow.Table]:
    """Returns a function that turns rows into a table of pyarrow, without copying them."""
    pyarrow = need("pyarrow", "to_arrow()")
    return lambda table: pyarrow.table(table)


def to_polars() -> Callable[[ArrowStream], polars.DataFrame]:
    """Returns a function that turns rows into a data frame of polars."""
    polars = need("polars", "to_polars()")
    return lambda table: polars.DataFrame(table)


def to_pandas(dtype_backend: str | None) -> Callable[[ArrowStream], pandas.DataFrame]:
    """Returns a function that turns rows into a data frame of pandas.

    Integers and booleans stay exact in columns that have empty cells.
    """
    pandas, pyarrow = need("pandas", "to_pandas()", "pandas pyarrow"), need("pyarrow", "to_pandas()")
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
