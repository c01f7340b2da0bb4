"""The functions that all engines for lists share: the columns of a list, and its rows as they arrive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, cast

from ._list import List, Scan
from ._optional import need
from ._talentdata import check_option
from ._warning import warn

if TYPE_CHECKING:
    import pyarrow

Unproven = Literal["fail", "warn", "accept"]


def arrow_schema(resource: List[Any], columns: Literal["typed", "json"]) -> pyarrow.Schema:
    """Returns the columns of a list, including `_extra`, from its first 1,000 records."""
    pyarrow = need("pyarrow", "the columns of a list")
    with resource.list(columns=columns, progress=False) as scan:
        return pyarrow.RecordBatchReader.from_stream(scan).schema


def checked(unproven: str) -> Unproven:
    """Checks the option `unproven`, before any request is sent."""
    check_option("unproven", unproven)
    return cast(Unproven, unproven)


def open_scan(resource: List[Any], unproven: Unproven, **options: Any) -> Scan[Any]:
    """Creates a scan for `batches`, which issues the warning because a stream on an engine's thread may be unable to."""
    return resource.list(progress=False, unproven="accept" if unproven == "warn" else unproven, **options)


def batches(scan: Scan[Any], unproven: Unproven) -> Iterator[pyarrow.RecordBatch]:
    """Yields the rows of a scan as they arrive. Raises the errors of the scan."""
    pyarrow = need("pyarrow", "reading a list")
    with scan:
        try:
            yield from pyarrow.RecordBatchReader.from_stream(scan)
        except Exception:
            scan._scan.check()
            raise
        if unproven == "warn":
            warn(scan._scan.shortfall())
