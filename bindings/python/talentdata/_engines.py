"""The common parts of all engines that read lists: the columns of a list, and its rows as they come."""

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
    """The columns of a list, `_extra` included, from its first 1,000 records."""
    pyarrow = need("pyarrow", "the columns of a list")
    with resource.list(columns=columns, progress=False) as scan:
        return pyarrow.RecordBatchReader.from_stream(scan).schema


def checked(unproven: str) -> Unproven:
    """Checks the option `unproven`, before any request is sent."""
    check_option("unproven", unproven)
    return cast(Unproven, unproven)


def open_scan(resource: List[Any], unproven: Unproven, **options: Any) -> Scan[Any]:
    """Begins a scan for `batches`, which issues the warning itself: a stream may be unable to on an engine's thread."""
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
