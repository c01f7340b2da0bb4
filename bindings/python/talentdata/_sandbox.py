"""A sample service in this process, for trials without an account and for your own tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from ._async_client import AsyncClient
from ._client import Client
from ._talentdata import BaseSandbox

#: Sandboxes that created a client. Without this, nothing would keep the service of `talentdata.Sandbox().client()`
#: running.
_in_use: set[Sandbox] = set()


class Sandbox(BaseSandbox):
    """A sample service on a free port of 127.0.0.1, with sample data, which needs no account.

    Once it has created a client, it runs until it is closed or the process ends. `with` closes it.

    Args:
        records: Sizes of lists by name, such as `{"contacts": 100_000}`; others keep their default size.
        seed: The seed of the data. The same seed produces the same records.
        policy: The method that counts requests: `"clock-window"`, `"first-request-window"`, `"sliding-log"`,
            `"sliding-counter"`, `"token-bucket"`, `"gcra"` or `"unlimited"`.
        rounding: The rounding of `x-ratelimit-reset`: `"up"`, `"down"` or `"fractional"`.
        limit: The number of admitted requests per second (40 by default).
        latency: The time that is added to every round trip, in seconds.
        port: The port; 0 takes any free one.
        faults: Whether to accept fault rules; see `set_faults`.
        token_lifetime: The lifetime of a token, in seconds.
        max_limit: The maximum number of records on a page of any list, even if a request asks for more. By default,
            each list has its own maximum (100).
        later_max_limit: The `max_limit` from the fourth page request of a list on.
        large_limits: The response to a limit above the maximum: `"reduced"` (silently fewer records), `"refused"` (400,
            with a reason), `"refused-blindly"` (400, without one) or `"timed-out"` (504).
        gzip: Whether bodies are compressed for clients that accept it.
        drift: Changes to a list between page requests, as numbers. After every `every` of its requests, at most `times`
            times, the list has this number of `inserts`, `deletes`, `updates` (other members, the same `id`) and
            `bulk_deletes` (adjacent records). `seed` selects the positions.
        order: The order of lists: `"stable"`, `"ties"` (tied records come in another order at every request),
            `"random"` (all of them do), `"updated"` (updated records move to the end), `"updated-desc"` (to the
            front) or `"anywhere"` (to a random place).
        ids: The identity of records: `"unique"` ids, `"none"`, `"equal"` (no ids, and all records are equal),
            `"volatile"` (no ids, and a member that differs at every read), `"repeated"` (two records share an id) or
            `"colliding"` (two ids share their 64-bit XXH3 hash).
        total: The length of the list in the pagination object: `"exact"`, `"zero"`, `"unknown"` (0, and `hasMore` is
            always true), `"text"` (the members are strings), `"null"`, `"absent"` (neither `total` nor `hasMore`) or
            `"nothing"` (no such object).
        pages: The pages of a list: `"any"`, or only those at multiples of the limit, with other offsets `"rounded"`,
            `"told"` (rounded, as the pagination object says) or `"refused"`. `"fixed"` is pages of one size only.
        ignore_offset: Whether every page is the first one.
        replicas: Replicas that respond in turn, as numbers: there are `count` of them, and the last one lacks the last
            `lag_percent` of each list.
        warnings: Whether to add an array `warnings` next to an empty array of records, in lists whose interface does not
            name the record array.
        tokens: The valid tokens: `"all"` until they expire, or only the `"newest"`.

    Raises:
        talentdata.InvalidArgumentError: An argument is wrong; the message names it.
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
        large_limits: str = "reduced",
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
        """Creates a client of this sandbox. Takes the options of `Client`, which override the sandbox's own."""
        return Client(**self._settings(options))

    def async_client(self, **options: Any) -> AsyncClient:
        """Creates an async client of this sandbox. Takes the options of `Client`, which override the sandbox's own."""
        return AsyncClient(**self._settings(options))

    def set_faults(self, *rules: dict[str, Any]) -> None:
        """Replaces the fault rules, which change responses. Without arguments, removes them.

        With fault rules you can test how your code handles failures of the service. Needs `faults=True`. `talentdata
        sandbox --help` lists every member of a rule.

        Args:
            rules: Dicts of `match` and `reply`. The first rule that matches a request applies. `match` selects requests
                by `path` (which must be a path of the service), `method`, `nth` (only the nth match) and `from` (the
                nth and all later matches). `reply` changes the response by `status`, `headers`, `body`, `delay_ms` or
                `close_after_read`. A response whose status is changed has no body unless `body` sets one.

        Raises:
            talentdata.InvalidArgumentError: A rule is wrong, the service does not have its path, or the sandbox was
                started without `faults=True`.
        """
        self._set_faults(json.dumps({"rules": rules}))

    def change(self, resource: str, *, update: int = 0, delete: int = 0, insert: int = 0) -> None:
        """Updates, deletes and inserts the given numbers of random records, in this order.

        Raises:
            talentdata.InvalidArgumentError: The list does not exist, or has too few records.
        """
        for kind, count in (("update", update), ("delete", delete), ("insert", insert)):
            if count:
                self._change(resource, f'{{"{kind}": {int(count)}}}')

    def changes(self, resource: str, skip: int = 0) -> list[dict[str, Any]]:
        """Returns every insert, update and delete since the start, in order, for comparison with a client's report.

        Each change has `at` (a time in UTC, in the format of RFC 3339), `op` (`"insert"`, `"update"` or `"delete"`),
        `key` (the `id`, or without one an object of the members) and `record` (the new version, or the last one before
        a delete).

        Args:
            resource: The list.
            skip: The number of changes to skip at the beginning, such as those already read.

        Raises:
            talentdata.InvalidArgumentError: The list does not exist.
        """
        changes: list[dict[str, Any]] = json.loads(self._changes(resource, skip))
        return changes

    def close(self) -> None:
        """Stops the service. Later calls of its clients fail."""
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
