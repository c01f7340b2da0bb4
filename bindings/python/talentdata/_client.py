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

    Settings come from the arguments, else from the environment (`TALENTDATA_BASE_URL`,
    `TALENTDATA_CLIENT_ID`, `TALENTDATA_CLIENT_SECRET`), else from a section of the profile file. Nothing
    is sent before the first verb. Threads may share a client; a forked child makes connections of its own.

    Args:
        base_url: Where the service is, such as `https://talent.example`. There is no default.
        client_id: The client's identifier (section 5).
        client_secret: The client's secret (section 5); it is never shown.
        profile: The section of the profile file to read.
        timeout: Seconds for a whole call: waiting for the budget, attempts and back-off; 300 by default.
        attempt_timeout: Seconds for one attempt; 60 by default.
        connect_timeout: Seconds for a connection to be made; 5 by default.
        idle_timeout: Seconds between two pieces of an answer; 20 by default.
        max_attempts: How often a request is sent at most, 1 to 20; 4 by default.
        max_wait: Seconds the service may ask to wait, before the call fails; 60 by default.
        share: The part of the company's 40 requests a second (section 8) to use, up to 1.
        paced: Whether to keep to those 40 requests, true by default; false is for a service that counts none,
            such as `Sandbox(policy="unlimited")`. The documented client rule is kept in either case.

    Raises:
        talentdata.ConfigError: A setting is missing or wrong; it is named.

    >>> import talentdata
    >>> with talentdata.Sandbox(records={"contacts": 3}) as sandbox, sandbox.client() as client:
    ...     len([contact.first_name for contact in client.contacts.list()])
    3
    """

    __slots__ = ()

    @property
    def last_response(self) -> LastResponse | None:
        """Status, headers and request id of the answer that came last; `None` before the first.

        >>> import talentdata
        >>> with talentdata.Sandbox() as sandbox, sandbox.client() as client:
        ...     report = client.version()
        ...     client.last_response.status, client.last_response.headers["x-ratelimit-limit"]
        (200, '40;w=1')
        """
        last = self._last_response()
        return None if last is None else LastResponse(last)

    def with_options(
        self,
        *,
        timeout: float | None = None,
        attempt_timeout: float | None = None,
        connect_timeout: float | None = None,
        idle_timeout: float | None = None,
        max_attempts: int | None = None,
        max_wait: float | None = None,
        share: float | None = None,
        paced: bool | None = None,
    ) -> Client:
        """A client with some settings changed; see the class for them.

        It spends the budget of this one, unless `share`, `max_wait` or `paced` differ.

        >>> import talentdata
        >>> with talentdata.Sandbox() as sandbox, sandbox.client() as client:
        ...     client.with_options(max_attempts=1).version().version
        '1.8.2'
        """
        return type(self)(
            timeout=timeout,
            attempt_timeout=attempt_timeout,
            connect_timeout=connect_timeout,
            idle_timeout=idle_timeout,
            max_attempts=max_attempts,
            max_wait=max_wait,
            share=share,
            paced=paced,
            _origin=self,
        )

    def close(self) -> None:
        """Lets go of all connections; whatever is asked of the client afterwards raises `ClosedError`.

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
        """Status, headers and request id of the answer that came last; `None` before the first."""
        last = self._last_response()
        return None if last is None else LastResponse(last)

    def with_options(
        self,
        *,
        timeout: float | None = None,
        attempt_timeout: float | None = None,
        connect_timeout: float | None = None,
        idle_timeout: float | None = None,
        max_attempts: int | None = None,
        max_wait: float | None = None,
        share: float | None = None,
        paced: bool | None = None,
    ) -> AsyncClient:
        """See `Client.with_options`; there is nothing to await."""
        return type(self)(
            timeout=timeout,
            attempt_timeout=attempt_timeout,
            connect_timeout=connect_timeout,
            idle_timeout=idle_timeout,
            max_attempts=max_attempts,
            max_wait=max_wait,
            share=share,
            paced=paced,
            _origin=self,
        )

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
