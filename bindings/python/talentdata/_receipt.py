"""The receipt of a scan."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


from ._html import table
from ._open_enum import OpenEnum
from ._talentdata import Field, Record


class Completeness(OpenEnum):
    """Whether every record present throughout the scan was delivered exactly once.

    >>> import talentdata
    >>> with talentdata.Sandbox(records={"pools": 3}) as sandbox, sandbox.client() as client:
    ...     scan = client.pools.list()
    ...     pools = list(scan)
    >>> scan.receipt.completeness == talentdata.Completeness.PROVEN == "proven"
    True
    """

    __slots__ = ()

    UNFINISHED = "unfinished"
    PROVEN = "proven"
    NOT_PROVEN = "not_proven"


class Basis(OpenEnum):
    """What the proof of completeness rests on, the strongest first.

    >>> import talentdata
    >>> with talentdata.Sandbox(records={"pools": 3}) as sandbox, sandbox.client() as client:
    ...     scan = client.pools.list()
    ...     pools = list(scan)
    >>> scan.receipt.basis == talentdata.Basis.COUNTED == "counted"
    True
    """

    __slots__ = ()

    COUNTED = "counted"
    """The total never changed, exactly that many records were delivered, and no page had to be read again."""
    JOINED = "joined"
    """The list changed during the scan; every page joined those before it, and the order held."""


class Receipt(Record):
    """What a scan has done. Counts are of this scan alone, times in seconds.

    >>> import talentdata
    >>> with talentdata.Sandbox(records={"pools": 250}) as sandbox, sandbox.client() as client:
    ...     scan = client.pools.list()
    ...     pools = list(scan)
    >>> scan.receipt.records, scan.receipt.completeness == talentdata.Completeness.PROVEN
    (250, True)
    """

    __slots__ = ()
    _documented = (
        "resource",
                "parameters",

        "completeness",
        "basis",
        "assumes",
        "doubts",
        "resumed",
        "records",
        "pages",
        "requests",
        "retries",
        "rate_limited",
        "seconds",
        "seconds_waited_for_budget",
        "budget",
        "seconds_backed_off",
        "budget_used",
        "duplicates_dropped",
        "seams_repaired",
        "total_first",
        "total_last",
        "unknown_fields",
        "unknown_values",
        "schema",
        "written",
    )

    resource: Field[str] = Field("resource", "text", required=True)
    """The list."""
    parameters: Field[dict[str, Any]] = Field("parameters", "object", required=True)
    """The values of the list's parameters, such as filters, that were sent with every page; of a header a hash."""
    completeness: Field[Completeness] = Field("completeness", "text", required=True, of=Completeness)
    """Whether every record present throughout the scan was delivered exactly once."""
    basis: Field[Basis | None] = Field("basis", "text", of=Basis)
    """What the proof of completeness rests on; `None` where it is not proven."""
    assumes: Field[str | None] = Field("assumes", "text")
    """What "proven" assumes, because it cannot be checked from outside; `None` where completeness is not proven."""
    doubts: Field[list[str]] = Field("doubts", "array", required=True)
    """Why completeness is not proven."""
    resumed: Field[int] = Field("resumed", "integer", required=True)
    """How often an export was resumed; 0 when a single run has done it all."""
    records: Field[int] = Field("records", "integer", required=True)
    """Records that the caller was given."""
    pages: Field[int] = Field("pages", "integer", required=True)
    """Pages that were joined."""
    requests: Field[int] = Field("requests", "integer", required=True)
    """Page requests sent, retries included."""
    retries: Field[int] = Field("retries", "integer", required=True)
    """Page requests sent again after a failure."""
    rate_limited: Field[int] = Field("rate_limited", "integer", required=True)
    """Answers with status 429 (section 8)."""
    seconds: Field[float] = Field("seconds", "number", required=True)
    """From the first request to the end."""
    seconds_waited_for_budget: Field[float] = Field("seconds_waited_for_budget", "number", required=True)
    """Of these, how long pages waited for the budget."""
    budget: Field[dict[str, Any] | None] = Field("budget", "object")
    """How the budget was shared meanwhile: its `home`, `most_members` at once, for how many seconds it could not be
    reached (`seconds_lost`) and why (`lost`); `None` before the first page."""
    seconds_backed_off: Field[float] = Field("seconds_backed_off", "number", required=True)
    """How long failed pages waited before they were sent again, summed over pages."""
    budget_used: Field[float] = Field("budget_used", "number", required=True)
    """The part of the company's budget that was used, from 0 to 1."""
    duplicates_dropped: Field[int] = Field("duplicates_dropped", "integer", required=True)
    """Records that came again and were dropped, beyond the overlap of one per page."""
    seams_repaired: Field[int] = Field("seams_repaired", "integer", required=True)
    """Seams where the list had moved and the scan stepped back."""
    total_first: Field[int | None] = Field("total_first", "integer")
    """The service's total on the first page."""
    total_last: Field[int | None] = Field("total_last", "integer")
    """The service's total on the last page."""
    unknown_fields: Field[dict[str, Any]] = Field("unknown_fields", "object", required=True)
    """How often each field came that the document does not show."""
    unknown_values: Field[dict[str, Any]] = Field("unknown_values", "object", required=True)
    """How often each enum value came that the document does not show, by field."""
    schema: Field[dict[str, Any] | None] = Field("schema", "object")
    """How the records differed from the schema that was given: `new_fields`, `missing_fields` and
    `other_types`, each with a count and an example by JSON pointer; `None` where none was given."""
    written: Field[dict[str, Any] | None] = Field("written", "object")
    """What an export has written, for `verify`: name of the `file`, `format`, `bytes`, `blake3`, `records`, and
    `records_digest`, which is the same for the same records in any order and format; `None` for a scan."""

    def _repr_html_(self) -> str:
        return table(f"Receipt of {self.resource}", self.to_dict())
