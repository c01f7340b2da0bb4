"""The base of all exceptions of the package."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """An error of the package, with the facts about the call that failed.

    There is a class per kind of error, such as `talentdata.RateLimitedError`. All have these attributes; an unknown one
    is `None`. Neither text nor attributes ever hold a secret or a token. Errors can be pickled, so that they cross
    process boundaries.
    """

    kind: str = "Error"
    """The kind, by the name that is the same in every language."""
    operation: str | None = None
    """The operation that failed, by its name in the spec."""
    status: int | None = None
    """The HTTP status, if the service responded."""
    attempts: int = 0
    """The number of times that the request was sent; 0 if it was never sent."""
    retryable: bool = False
    """Whether the same call may succeed later without a change."""
    retry_after: float | None = None
    """The time that the service asked to wait, in seconds."""
    request_id: str | None = None
    """The service's own name for the request."""
    offset: int | None = None
    """The offset of the page that failed, in records."""
    body: str | None = None
    """The beginning of the response, at most 512 bytes, without secrets."""

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(message)
        vars(self).update(facts)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.args, self.__dict__
