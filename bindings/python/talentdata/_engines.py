"""What engines that read lists have in common: the columns, the rows, and what becomes of a scan that is not proven."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from ._errors import IncompleteError
from ._needs import need
from ._receipt import Receipt
from ._resource import Resource
from ._scan import Scan

if TYPE_CHECKING:
    import pyarrow


def arrow_schema(resource: Resource[Any], columns: Literal["typed", "json"]) -> pyarrow.Schema:
    """The columns of a list, `_extra` included, from its first 1,000 records."""
    pyarrow = need("pyarrow", "the columns of a list")
    with resource.list(columns=columns, progress=False) as scan:
        return pyarrow.RecordBatchReader.from_stream(scan).schema


def batches(scan: Scan[Any], unproven: Literal["fail", "accept"]) -> Iterator[pyarrow.RecordBatch]:
    """The rows of a scan as they come; at its end an `IncompleteError` where it is not proven that these are all."""
    pyarrow = need("pyarrow", "reading a list")
    with scan:
        yield from pyarrow.RecordBatchReader.from_stream(scan)
        check(scan.receipt, unproven)


def check(receipt: Receipt, unproven: Literal["fail", "accept"]) -> None:
    """Raises an `IncompleteError` where a scan is not proven, unless that is accepted."""
    if receipt.completeness in ("not_proven", "unfinished") and unproven != "accept":
        doubts = ", ".join(receipt.doubts) or receipt.completeness
        raise IncompleteError(
            f"{receipt.resource}: it is not proven that every record was read ({doubts}); read it again, or accept it with "
            "unproven='accept'"
        )
