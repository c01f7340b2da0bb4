"""The service itself, in this process: to try the package without an account, and for your own tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from ._async_client import AsyncClient
from ._client import Client
from ._talentdata import BaseSandbox


#: Sandboxes that have handed out a client: `talentdata.Sandbox().client()` has nothing else that keeps its service.
_in_use: set[Sandbox] = set()


class Sandbox(BaseSandbox):
    """The service on a free port of 127.0.0.1, with sample data, without an account.

    Once it has handed out a client, it runs until it is closed or the process ends. `with` closes it.

    Args:
        records: Sizes of lists by name, such as `{"contacts": 100_000}`; others keep their default size.
        seed: Chooses the data: the same seed gives the same records.
        policy: How requests are counted: `"clock-window"`, `"first-request-window"`, `"sliding-log"`,
            `"sliding-counter"`, `"token-bucket"`, `"gcra"` or `"unlimited"`.
        rounding: How `x-ratelimit-reset` is rounded: `"up"`, `"down"` or `"fractional"`.
        limit: Requests admitted per second (40 by default).
        latency: Seconds added to every round trip.
        port: The port; 0 takes any free one.
        faults: Whether it takes fault rules; see `set_faults`.
        token_lifetime: Seconds that a token lives.
        max_limit: The most records on a page of any list, whatever `limit` a request asks for. By default, each list has its
            own maximum (100).
        later_max_limit: The same from the fourth page request of a list on.
        gzip: Whether bodies are compressed for clients that accept it.
        drift: Changes made to a list between page requests, as numbers: after `every` so many of its requests, at most
            `times` times, so many `inserts`, `deletes`, `updates` (other members, the same `id`), and `bulk_deletes`
            (in one piece). `seed` chooses the places.
        order: What lists are sorted by: `"stable"`, `"ties"` (tied records come in another order at every request),
            `"random"` (all of them do), `"updated"` (updated records move to the end), `"updated-desc"` (to the
            front) or `"anywhere"` (to a random place).
        ids: What tells records from each other: `"unique"` ids, `"none"`, `"equal"` (no ids, and all
            records are equal), `"volatile"` (no ids, and a member that is another one at every read), `"repeated"`
            (two records share an id) or `"colliding"` (two ids share their 64-bit XXH3 hash).
        total: `"exact"`, `"zero"`, or `"unknown"`: 0, and `hasMore` is always true.
        pages: Which pages a list has: `"any"`, or only those at multiples of the limit, with other offsets `"rounded"`,
            `"told"` (rounded, and the pagination object tells) or `"refused"`; `"fixed"` is pages of one size only.
        ignore_offset: Whether every page is the first one.
        replicas: Replicas that answer in turn, as numbers: `count` of them, of which the last lacks the last
            `lag_percent` of each list.
        warnings: Whether an array `warnings` accompanies an empty array of records, where the interface does not name
            the latter.
        tokens: Which tokens are valid: `"all"` until they expire, or only the `"newest"`.

    Raises:
        talentdata.InvalidArgumentError: An argument is wrong; it is named.
        talentdata.BusyError: The port is taken.
    """

    __slots__ = ()

    def __new__(
        cls,
        *,
        records: Mapping[str, int] | None = None,
        seed: int = 0,
        policy: str = "clock-window",
        rounding: str = "up",
        limit: int = 40,
        latency: float = 0.0,
        port: int = 0,
        faults: bool = False,
        token_lifetime: float = 3600.0,
        max_limit: int | None = None,
        later_max_limit: int | None = None,
        gzip: bool = False,
        drift: Mapping[str, int] | None = None,
        order: str = "stable",
        ids: str = "unique",
        total: str = "exact",
        pages: str = "any",
        ignore_offset: bool = False,
        replicas: Mapping[str, int] | None = None,
        warnings: bool = False,
        tokens: str = "all",
    ) -> Sandbox:
        return BaseSandbox.__new__(cls, {name: value for name, value in locals().items() if name != "cls"})

    def client(self, **options: Any) -> Client:
        """A client of this sandbox; takes the options of `Client`, which win over the sandbox's own."""
        return Client(**self._settings(options))

    def async_client(self, **options: Any) -> AsyncClient:
        """An async client of this sandbox; takes the options of `Client`, which win over the sandbox's own."""
        return AsyncClient(**self._settings(options))

    def set_faults(self, *rules: dict[str, Any]) -> None:
        """Replaces the fault rules, which change responses; without arguments, removes them.

        For tests of what your own code does when the service fails. Needs `faults=True`. `talentdata sandbox --help` and
        the README of the sandbox list every member of a rule.

        Args:
            rules: Dicts of `match` and `reply`; the first rule that matches a request applies. `match` selects requests by
                `path` (which must be a path of the service), `method`, `nth` (only the nth match) and `from` (the nth and
                all later matches). `reply` changes the response by `status`, `headers`, `body`, `delay_ms` or
                `close_after_read`. A response whose status is changed has no body unless `body` gives one.

        Raises:
            talentdata.InvalidArgumentError: A rule is wrong, its path is not one of the service's, or the sandbox was
                started without `faults=True`.
        """
        self._set_faults(json.dumps({"rules": rules}))

    def change(self, resource: str, *, update: int = 0, delete: int = 0, insert: int = 0) -> None:
        """Randomly updates, deletes, then inserts the given numbers of records.

        Raises:
            talentdata.InvalidArgumentError: There is no such list, or too many records would change.
        """
        for kind, count in (("update", update), ("delete", delete), ("insert", insert)):
            if count:
                self._change(resource, f'{{"{kind}": {int(count)}}}')

    def changes(self, resource: str, skip: int = 0) -> list[dict[str, Any]]:
        """Lists every insert, update and delete since the start, in order, to compare with what a client reports.

        Each change has `at` (a time in UTC as in RFC 3339), `op` (`"insert"`, `"update"` or `"delete"`), `key` (the
        `id`; without one, an object of the members) and `record`, which is the new one, or the last one of a delete.

        Args:
            resource: The list.
            skip: The number of changes to leave out at the beginning, such as those already read.

        Raises:
            talentdata.InvalidArgumentError: There is no such list.
        """
        changes: list[dict[str, Any]] = json.loads(self._changes(resource, skip))
        return changes

    def close(self) -> None:
        """Stops the service. Calls of its clients fail from then on."""
        _in_use.discard(self)
        super().close()

    def _settings(self, options: dict[str, Any]) -> dict[str, Any]:
        _in_use.add(self)
        own = {"base_url": self.base_url, "client_id": self.client_id, "client_secret": self.client_secret}
        return {**own, **options}

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
