"""Runs the cases of `tests/cases`, which every language's client passes, over real sockets and with both clients."""

import asyncio
import json
from inspect import isawaitable
from pathlib import Path

import pytest

import talentdata

SUITES = sorted((Path(__file__).parents[3] / "tests" / "cases").glob("*.json"))
CASES = {f"{path.stem}-{case['id']}": case for path in SUITES for case in json.loads(path.read_text())["cases"]}

#: The members that a case, and each part of it, may have; the README of the cases describes them.
MEMBERS = {
    "case": {"id", "docs", "sandbox", "client", "rules", "do", "expect"},
    "sandbox": {"records", "max_limit", "gzip", "token_lifetime_s"},
    "client": {"client_secret", "max_attempts", "attempt_s"},
    "expect": {"error", "records", "ids", "completeness", "value", "requests"},
    "error": {"kind", "says", "status", "attempts", "offset", "retry_after_s"},
}


def part(of, name):
    """A part of a case, whose members are all known."""
    found = of.get(name, {})
    assert set(found) <= MEMBERS[name], f"{name} has an unknown member: {set(found) - MEMBERS[name]}"
    return found


async def settled(answer):
    """The response of a verb, whichever client gave it."""
    return await answer if isawaitable(answer) else answer


async def perform(client, do):
    """What comes of a verb, by either client: records, completeness, and the value."""
    if isinstance(do, str):
        return [], None, (await settled(getattr(client, do)())).to_dict()
    match do:
        case {"check": {"version": version, "categories": categories}}:
            return [], None, (await settled(client.check_version(version, categories))).to_dict()
        case {"page": {"list": name, "limit": limit, "offset": offset}}:
            return (await settled(getattr(client, name).page(limit, offset))).records, None, None
        case {"scan": name}:
            scan = getattr(client, name).list()
            records = list(scan) if isinstance(scan, talentdata.Scan) else [record async for record in scan]
            return records, scan.receipt.completeness, None
        case {"repeat": times, "verb": verb}:
            for _ in range(times):
                last = await perform(client, verb)
            return last
    raise ValueError(f"not a verb: {do}")


def at(value, pointer):
    for step in pointer.split("/")[1:]:
        value = value[int(step) if isinstance(value, list) else step.replace("~1", "/").replace("~0", "~")]
    return value


def compare(expect, records, completeness, value):
    assert len(records) == expect.get("records", len(records))
    if "ids" in expect:
        assert [record["id"] for record in records] == expect["ids"]
    assert completeness == expect.get("completeness", completeness)
    for pointer, wanted in expect.get("value", {}).items():
        assert at(value, pointer) == wanted, pointer


def compare_error(expect, error, secret):
    assert type(error) is getattr(talentdata, error.kind + "Error")
    assert all(text in str(error) for text in expect["says"]), error
    for name in ("kind", "status", "attempts", "offset", "retry_after_s"):
        if name in expect:
            assert getattr(error, name.removesuffix("_s")) == expect[name], name
    shown = f"{error} {error!r} {vars(error)}"
    assert "CANARY" not in shown and secret not in shown


@pytest.mark.parametrize("kind", ["client", "async_client"])
@pytest.mark.parametrize("name", CASES)
def test_case(name, kind):
    assert set(CASES[name]) <= MEMBERS["case"]
    case = CASES[name]
    options, expect, settings = dict(part(case, "sandbox")), part(case, "expect"), part(case, "client")
    options["token_lifetime"] = options.pop("token_lifetime_s", None)
    with talentdata.Sandbox(**options, policy="unlimited", faults=True) as sandbox:
        sandbox.set_faults(*case["rules"])
        secret = settings.get("client_secret", sandbox.client_secret)
        names = {"client_secret": secret, "max_attempts": settings.get("max_attempts"), "attempt_timeout": settings.get("attempt_s")}
        client = getattr(sandbox, kind)(**names)
        if "error" in expect:
            with pytest.raises(talentdata.Error) as caught:
                asyncio.run(perform(client, case["do"]))
            compare_error(part(expect, "error"), caught.value, secret)
        else:
            compare(expect, *asyncio.run(perform(client, case["do"])))
        seen = sandbox.stats()["requests_by_path"]
        assert all(seen.get(path, 0) == count for path, count in expect.get("requests", {}).items()), seen
