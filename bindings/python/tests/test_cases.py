"""Runs the cases of `tests/cases`, which every language's client passes, over real sockets and with both clients."""

import asyncio
from inspect import isawaitable

import pytest
from cases import CASES, compare, read

import talentdata


async def settled(answer):
    """Returns the response of a call by either client."""
    return await answer if isawaitable(answer) else answer


async def perform(client, do):
    """Performs the action of a case with either client, and returns the facts that the case compares."""
    found = {"records": [], "completeness": None, "value": None}
    if isinstance(do, str):
        return {**found, "value": (await settled(getattr(client, do)())).to_dict()}
    match do:
        case {"check": {"version": version, "categories": categories}}:
            return {**found, "value": (await settled(client.check_version(version, categories))).to_dict()}
        case {"page": {"list": name, "limit": limit, "offset": offset}}:
            return {**found, "records": (await settled(getattr(client, name).page(limit, offset))).records}
        case {"scan": name}:
            scan = getattr(client, name).list()
            records = list(scan) if isinstance(scan, talentdata.Scan) else [record async for record in scan]
            return {**found, "records": records, "completeness": scan.receipt.completeness}
        case {"repeat": times, "verb": verb}:
            for _ in range(times):
                last = await perform(client, verb)
            return last
    raise ValueError(f"not a verb: {do}")


@pytest.mark.parametrize("kind", ["client", "async_client"])
@pytest.mark.parametrize("name", CASES)
def test_case(name, kind):
    options, settings, expect = read(name)
    shown = ""
    with talentdata.Sandbox(**options, policy="unlimited", faults=True) as sandbox:
        sandbox.set_faults(*CASES[name]["rules"])
        secret = settings.get("client_secret", sandbox.client_secret)
        client = getattr(sandbox, kind)(**settings)
        try:
            found = asyncio.run(perform(client, CASES[name]["do"]))
        except talentdata.Error as error:
            assert type(error) is getattr(talentdata, error.kind + "Error")
            found = {"kind": error.kind, "message": str(error), "retry_after_s": error.retry_after, **vars(error)}
            shown = f"{error} {error!r} {vars(error)}"
        compare(expect, found, sandbox.stats()["requests_by_path"], secret, shown)
