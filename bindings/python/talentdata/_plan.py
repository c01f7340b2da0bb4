"""What reading a list will cost, and what the service answered last."""

from __future__ import annotations

from ._html import table
from ._talentdata import Field, Record


class Plan(Record):
    """The cost of a complete scan, if the list stays as it is. `Resource.plan` makes one.

    >>> import talentdata
    >>> with talentdata.Sandbox(records={"pools": 250}) as sandbox, sandbox.client() as client:
    ...     plan = client.pools.plan()
    >>> plan.resource, plan.records, plan.pages
    ('pools', 250, 5)
    """

    __slots__ = ()
    _documented = ("resource", "records", "pages", "members", "seconds")

    resource: Field[str] = Field("resource", "text", required=True)
    """The list."""
    records: Field[int] = Field("records", "integer", required=True)
    """Records in it."""
    pages: Field[int] = Field("pages", "integer", required=True)
    """Page requests, none of them sent again."""
    members: Field[int] = Field("members", "integer", required=True)
    """How many clients share the budget now, this one included."""
    seconds: Field[float] = Field("seconds", "number", required=True)
    """How long they take at this client's part of the budget (section 8), while as many clients share it."""

    def _repr_html_(self) -> str:
        return table(f"Plan of {self.resource}", self.to_dict())


class LastResponse(Record):
    """Status and headers of the response that came last, of whichever call of the client.

    >>> import talentdata
    >>> with talentdata.Sandbox() as sandbox, sandbox.client() as client:
    ...     report = client.version()
    ...     last = client.last_response
    >>> last.status, last.headers["content-type"], last.request_id
    (200, 'application/json', None)
    """

    __slots__ = ()
    _documented = ("status", "headers")

    status: Field[int] = Field("status", "integer", required=True)
    """The status."""
    headers: Field[dict[str, str]] = Field("headers", "object", required=True)
    """The headers, by their names in small letters."""

    @property
    def request_id(self) -> str | None:
        """The service's own name for the request, when it sent one."""
        return self.headers.get("x-request-id")
