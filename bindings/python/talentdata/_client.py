"""The blocking client and the async one; every verb exists in both, under the same name."""

from __future__ import annotations

from types import TracebackType

from ._calls import AsyncCalls, Calls
from ._html import table
from ._lists import NAMES, AsyncLists, Lists
from ._plan import LastResponse
from ._talentdata import BaseClient


class Client(Lists, Calls):
    """A client of the service; waits in the thread that calls it, without the GIL.

    Its settings are described with `Client.__init__`. Threads may share a client; a forked child makes connections
    of its own.

    >>> import talentdata
    >>> with talentdata.Sandbox(records={"contacts": 3}) as sandbox, sandbox.client() as client:
    ...     len([contact.first_name for contact in client.contacts.list()])
    ...     client.with_options(max_attempts=1).version().version
    3
    '1.8.2'
    """

    __slots__ = ()

    @property
    def last_response(self) -> LastResponse | None:
        """Status, headers and request id of the response that came last; `None` before the first.

        >>> import talentdata
        >>> with talentdata.Sandbox() as sandbox, sandbox.client() as client:
        ...     report = client.version()
        ...     client.last_response.status, client.last_response.headers["x-ratelimit-limit"]
        (200, '40;w=1')
        """
        last = self._last_response()
        return None if last is None else LastResponse(last)

    def close(self) -> None:
        """Closes all connections; every later call raises `ClosedError`.

        What other threads wait for at this moment is still answered. `Scan.close` ends the wait for a scan.
        """
        self._close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _repr_html_(self) -> str:
        return html(self)


class AsyncClient(AsyncLists, AsyncCalls):
    """A client of the service for asyncio: the names of `Client`, awaited or with `async for`.

    Takes the settings of `Client`. It may be used from several event loops.

    >>> import asyncio, talentdata
    >>> async def main(sandbox):
    ...     async with sandbox.async_client() as client:
    ...         return [contact.id async for contact in client.contacts.list()]
    >>> with talentdata.Sandbox(records={"contacts": 3}) as sandbox:
    ...     len(asyncio.run(main(sandbox)))
    3
    """

    __slots__ = ()

    @property
    def last_response(self) -> LastResponse | None:
        """Status, headers and request id of the response that came last; `None` before the first."""
        last = self._last_response()
        return None if last is None else LastResponse(last)

    async def close(self) -> None:
        """See `Client.close`."""
        self._close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _repr_html_(self) -> str:
        return html(self)


def html(client: BaseClient) -> str:
    """What a notebook shows of a client."""
    state = "closed" if client.closed else "open"
    rows = {"base URL": client.base_url, "client id": client.client_id, "state": state, "lists": ", ".join(NAMES)}
    return table(type(client).__name__, rows)
