"""Runs the cases of `tests/cases`, which every language's client passes, over real sockets and with both clients."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any

import cases
import pytest

import talentdata

CASES = cases.every()


@dataclass
class Yield:
    """What a verb yields."""

    records: list[talentdata.Record] = field(default_factory=list)
    completeness: str | None = None
    value: Any = None


async def settled(answer):
    """The response of a verb, whichever client gave it."""
    return await answer if isawaitable(answer) else answer


async def perform(client, do):
    """Does what a case says, with either client."""
    match do:
        case "version":
            return Yield(value=(await settled(client.version())).to_dict())
        case "permissions":
            return Yield(value=(await settled(client.permissions())).to_dict())
        case {"check": {"version": version, "categories": categories, **more}, **others} if not more and not others:
            return Yield(value=(await settled(client.check_version(version, categories))).to_dict())
        case {"page": {"list": name, "limit": limit, "offset": offset, **more}, **others} if not more and not others:
            return Yield(records=(await settled(getattr(client, name).page(limit, offset))).records)
        case {"scan": name, **others} if not others:
            scan = getattr(client, name).list()
            blocking = isinstance(scan, talentdata.Scan)
            records = list(scan) if blocking else [record async for record in scan]
            return Yield(records=records, completeness=scan.receipt.completeness)
        case {"repeat": times, "verb": verb, **others} if not others:
            for _ in range(times):
                last = await perform(client, verb)
            return last
    raise ValueError(f"not a verb: {do}")


def at(value, pointer):
    """The value that a JSON pointer names; a KeyError or IndexError where there is none."""
    for step in pointer.split("/")[1:]:
        value = value[int(step) if isinstance(value, list) else step.replace("~1", "/").replace("~0", "~")]
    return value


def compare(expect, found):
    if expect.records is not None:
        assert len(found.records) == expect.records
    if expect.ids is not None:
        assert [record["id"] for record in found.records] == expect.ids
    if expect.completeness is not None:
        assert found.completeness == expect.completeness
    for pointer, value in expect.value.items():
        assert at(found.value, pointer) == value, pointer


def compare_error(expected, error, secret):
    assert (error.kind, type(error)) == (expected.kind, getattr(talentdata, expected.kind + "Error"))
    for text in expected.says:
        assert text in str(error)
    known = {
        "status": expected.status,
        "attempts": expected.attempts,
        "offset": expected.offset,
        "retry_after": expected.retry_after_s,
    }
    for name, value in known.items():
        assert value is None or getattr(error, name) == value, name
    shown = f"{error} {error!r} {vars(error)}"
    assert "CANARY" not in shown and secret not in shown


@pytest.mark.parametrize("kind", ["blocking", "async"])
@pytest.mark.parametrize("name", CASES)
def test_case(name, kind):
    case = CASES[name]
    options = case.sandbox
    with talentdata.Sandbox(
        records=options.records,
        max_limit=options.max_limit,
        gzip=options.gzip,
        token_lifetime=options.token_lifetime_s,
        policy="unlimited",
        faults=True,
    ) as sandbox:
        sandbox.set_faults(*case.rules)
        secret = case.client.client_secret or sandbox.client_secret
        make = sandbox.client if kind == "blocking" else sandbox.async_client
        client = make(
            client_secret=secret, max_attempts=case.client.max_attempts, attempt_timeout=case.client.attempt_s
        )
        if case.expect.error is None:
            compare(case.expect, asyncio.run(perform(client, case.do)))
        else:
            with pytest.raises(talentdata.Error) as caught:
                asyncio.run(perform(client, case.do))
            compare_error(case.expect.error, caught.value, secret)
        seen = sandbox.stats()["requests_by_path"]
        assert {path: seen.get(path, 0) for path in case.expect.requests} == case.expect.requests


@pytest.mark.parametrize(
    ("member", "place"),
    [("surprise", ()), ("surprise", ("sandbox",)), ("surprise", ("expect",)), ("surprise", ("expect", "error"))],
)
def test_a_member_that_is_not_known_fails(member, place):
    one = {"id": "x", "docs": "", "sandbox": {}, "client": {}, "rules": [], "do": "version", "expect": {"error": {"kind": "Auth", "says": []}}}
    assert cases.case(**one).do == "version"
    target = one
    for step in place:
        target = target[step]
    target[member] = 1
    with pytest.raises(TypeError, match="surprise"):
        cases.case(**one)


def test_a_verb_that_is_not_known_fails():
    for do in ("dance", {"scan": "pools", "surprise": 1}, {"page": {"list": "pools", "limit": 1, "offset": 0, "surprise": 1}}):
        with pytest.raises(ValueError, match="not a verb"):
            asyncio.run(perform(None, do))
