"""The blocking client and the async one; every verb exists in both, under the same name."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable
from types import TracebackType
from typing import Any

from ._calls import AsyncCalls, Calls
from ._errors import InvalidArgumentError
from ._html import table
from ._lists import NAMES, AsyncLists, Lists
from ._mirror import SyncReceipt
from ._plan import LastResponse
from ._progress import follow, told
from ._resource import AsyncResource, Resource
from ._talentdata import BaseClient, RawSync


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

    def sync(
        self,
        resources: Iterable[str | Resource[Any]],
        path: str | os.PathLike[str],
        *,
        confirm: bool = False,
        max_deletes: int | float | str | None = None,
        keep: datetime.timedelta | str | None = None,
        page_size: int | None = None,
        progress: bool | None = None,
    ) -> list[SyncReceipt]:
        """Brings a mirror up to date, list after list: reads each list and commits what has changed.

        A delete is reported only where it is proven that the record was gone; until then it is `missing`, and stays in the
        mirror. Until the commit of a list, and after any error, the mirror is as it was. `Mirror` reads it.

        Args:
            resources: The lists, such as `["contacts", "vacancies"]`; one with parameters, such as filters, as
                `client.contacts(...)` gives it.
            path: The file of the mirror, an SQLite database; it is made where there is none.
            confirm: Scan a list again at once if records are missing after it changed during the scan.
            max_deletes: The most deletes to believe: a number of records, or a share of those that the mirror has, such
                as `"25%"` or `0.25`; `"100%"` accepts any number. By default a fifth, and ten in any case. Of more, none
                is made, and the receipt has them as `withheld`.
            keep: Changes and earlier versions that are older are removed, such as `"90d"`; by default all are kept.
            page_size: See `Resource.list`, like the following arguments.
            progress: See `Resource.list`.

        Raises:
            talentdata.IoError: The mirror cannot be written, another sync is writing to it, or the file is something
                else.
            talentdata.InvalidArgumentError: An argument is wrong, or the mirror is of another service or client.
            talentdata.Error: A page could not be fetched.

        >>> import os, talentdata, tempfile
        >>> with talentdata.Sandbox(records={"pools": 25}) as sandbox, sandbox.client() as client:
        ...     with tempfile.TemporaryDirectory() as directory:
        ...         path = os.path.join(directory, "mirror.db")
        ...         receipts = client.sync(["pools"], path)
        ...         sandbox.change("pools", update=1, delete=2)
        ...         [receipt] = client.sync(["pools"], path)
        >>> receipt.generation, receipt.changes["update"], receipt.changes["delete"]
        (2, 1, 2)
        """
        receipts = []
        for name, sync in syncs(self, resources, path, confirm, max_deletes, keep, page_size):
            with follow(sync, name, progress) as tell:
                receipts.append(SyncReceipt(sync.run(False, tell)))
                tell()
        return receipts

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

    async def sync(
        self,
        resources: Iterable[str | AsyncResource[Any]],
        path: str | os.PathLike[str],
        *,
        confirm: bool = False,
        max_deletes: int | float | str | None = None,
        keep: datetime.timedelta | str | None = None,
        page_size: int | None = None,
        progress: bool | None = None,
    ) -> list[SyncReceipt]:
        """See `Client.sync`. A task that is cancelled leaves the mirror as it was."""
        receipts = []
        for name, sync in syncs(self, resources, path, confirm, max_deletes, keep, page_size):
            with follow(sync, name, progress) as tell:
                receipts.append(SyncReceipt(await told(sync.run(True, tell), tell)))
                tell()
        return receipts

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


def syncs(
    client: BaseClient,
    resources: Iterable[str | Resource[Any] | AsyncResource[Any]],
    path: str | os.PathLike[str],
    confirm: bool,
    max_deletes: int | float | str | None,
    keep: datetime.timedelta | str | None,
    page_size: int | None,
) -> list[tuple[str, RawSync]]:
    """A sync of each list, all of them checked before the first is run."""
    if isinstance(resources, str):
        raise InvalidArgumentError(f"resources: give a list of names, such as [{resources!r}]")
    most = None if max_deletes is None else str(max_deletes)
    if isinstance(max_deletes, float):
        most = f"{max_deletes * 100}%"
    made = []
    for resource in resources:
        if isinstance(resource, str):
            name, parameters = resource, None
        else:
            name, parameters = resource._name, resource._parameters
        made.append((name, RawSync(client, name, path, keep, confirm, most, page_size, parameters)))
    return made


def html(client: BaseClient) -> str:
    """What a notebook shows of a client."""
    state = "closed" if client.closed else "open"
    rows = {"base URL": client.base_url, "client id": client.client_id, "state": state, "lists": ", ".join(NAMES)}
    return table(type(client).__name__, rows)
