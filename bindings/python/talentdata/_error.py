"""The base of all exceptions of the package."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """An error of the package, with the facts about the failed call.

    There is a class for each kind of error, such as `talentdata.RateLimitedError`. All have these attributes. The value
    of an unknown fact is `None`. Neither text nor attributes contain a secret or a token. Errors can be pickled, so
    that they can cross process boundaries.
    """

    kind: str = "Error"
    """The name of the kind, which is the same in every language."""
    operation: str | None = None
    """The name of the failed operation in the API description."""
    status: int | None = None
    """The HTTP status, if the service responded."""
    attempts: int = 0
    """The number of times that the request was sent; 0 if it was never sent."""
    retryable: bool = False
    """True if the same call may succeed later without a change."""
    retry_after: float | None = None
    """The time to wait that the service requested, in seconds."""
    request_id: str | None = None
    """The service's identifier of the request."""
    offset: int | None = None
    """The offset of the failed page, in records."""
    body: str | None = None
    """The beginning of the response, at most 512 bytes, without secrets."""

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(message)
        vars(self).update(facts)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.args, self.__dict__
