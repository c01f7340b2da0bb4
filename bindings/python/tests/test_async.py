"""The async client: its methods, cancellation, and several event loops."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from support import until

import talentdata

LATE = {"match": {"path": "/v1/version", "nth": 1}, "reply": {"delay_ms": 30_000}}


async def test_cancellation_stops_the_call_and_leaves_the_client_usable(sandbox, async_client):
    sandbox.set_faults(LATE)
    call = asyncio.create_task(async_client.version())
    await asyncio.to_thread(until, lambda: sandbox.stats()["requests"] > 0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    sandbox.set_faults(LATE)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(async_client.version(), 0.2)
    assert (await async_client.version()).version == "1.8.2"


async def test_a_cancelled_scan_loses_no_records(sandbox, async_client):
    sandbox.set_faults({"match": {"path": "/v1/contacts", "nth": 3}, "reply": {"delay_ms": 600}})
    records, ids, cancelled = aiter(async_client.contacts.list()), [], 0

    async def read():
        async for contact in records:
            ids.append(contact.id)
        return True

    while True:
        try:
            if await asyncio.wait_for(read(), 0.1):
                break
        except asyncio.TimeoutError:
            cancelled += 1
    assert cancelled > 0 and len(ids) == len(set(ids)) == 450


async def test_a_frame_after_a_timeout_has_all_rows():
    with talentdata.Sandbox(records={"contacts": 9000}, policy="unlimited", faults=True) as sandbox:
        # The service hangs after the first batch of 4,096 rows.
        sandbox.set_faults({"match": {"path": "/v1/contacts", "from": 60}, "reply": {"delay_ms": 600_000}})
        # With these settings, the client requests a hanging page again.
        async with sandbox.async_client(paced=False, attempt_timeout=0.5, max_attempts=20) as client:
            scan = client.contacts.list()
            with pytest.raises(asyncio.TimeoutError):
                task = asyncio.ensure_future(scan.to_pandas())
                while scan._scan.progress()[0] < 4096:
                    await asyncio.sleep(0.005)
                await asyncio.wait_for(task, 0.01)
            assert (scan.receipt.records, scan.receipt.completeness) == (0, "unfinished")
            sandbox.set_faults()
            assert len(await scan.to_pandas()) == 9000
            assert (scan.receipt.records, scan.receipt.completeness) == (9000, "proven")


def test_several_loops_share_a_client(async_client):
    with pytest.raises(RuntimeError, match="no running event loop"):
        async_client._call("getVersion", None, None)

    async def work():
        version, check, page = await asyncio.gather(
            async_client.version(), async_client.check_version("1.8.2", ["taxonomy"]), async_client.pools.page(limit=2)
        )
        return version.version, check.compatible, len(page)

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda _: asyncio.run(work()), range(4))) == [("1.8.2", True, 2)] * 4


async def test_the_methods_of_a_client(async_client):
    scan = async_client.contacts.list(page_size=5)
    records = aiter(scan)
    first = (await anext(records)).id
    with pytest.raises(talentdata.InvalidArgumentError, match=r"aiter\(scan\)"):
        await anext(aiter(scan))

    async def rest():
        return [contact.id async for contact in records]

    # Five tasks share the iterator.
    ids = sum(await asyncio.gather(*(rest() for _ in range(5))), [first])
    assert len(set(ids)) == len(ids) == scan.receipt.records == 450 and scan.receipt.completeness == "proven"
    async with async_client.pools.list() as pools:
        assert len([pool async for pool in pools]) == 3
    for verb in ("to_arrow", "to_polars", "to_pandas"):
        assert len(await getattr(async_client.contacts.list(), verb)()) == 450
    await async_client.close()
    with pytest.raises(talentdata.ClosedError):
        await async_client.version()
