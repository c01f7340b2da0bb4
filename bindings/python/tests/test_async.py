"""The async client: the same names, awaited; cancellation; several loops."""

import asyncio
import inspect
import threading

import pytest

import talentdata


def run(sandbox, work):
    async def main():
        async with sandbox.async_client() as client:
            return await work(client)

    return asyncio.run(main())


def test_the_names_are_those_of_the_blocking_client():
    def public(cls):
        return {name for name in dir(cls) if not name.startswith("_")}

    for blocking, waiting in [
        (talentdata.Client, talentdata.AsyncClient),
        (talentdata.Resource, talentdata.AsyncResource),
        (talentdata.Scan, talentdata.AsyncScan),
    ]:
        assert public(blocking) == public(waiting)
        for name in public(blocking):
            pair = getattr(blocking, name), getattr(waiting, name)
            if all(map(inspect.isfunction, pair)):
                one, other = (list(inspect.signature(verb).parameters.values()) for verb in pair)
                assert [(p.name, p.default) for p in one] == [(p.name, p.default) for p in other], name


def test_verbs(sandbox):
    async def work(client):
        version, check, permissions, page = await asyncio.gather(
            client.version(), client.check_version("1.8.2", ["taxonomy"]), client.permissions(), client.pools.page(limit=2)
        )
        assert version.version == "1.8.2" and check.compatible and permissions.roles and len(page) == 2
        return True

    assert run(sandbox, work)


def test_scan(sandbox):
    async def work(client):
        scan = client.contacts.list()
        records, ids = aiter(scan), []
        async for contact in records:
            ids.append(contact.id)
            assert scan.receipt.records == len(ids)
            if len(ids) == 30:
                break
        with pytest.raises(talentdata.InvalidArgumentError, match=r"aiter\(scan\)"):
            await anext(aiter(scan))
        ids += [contact.id async for contact in records]
        assert [contact async for contact in records] == []
        assert scan.receipt.completeness == "proven"
        async with client.pools.list() as pools:
            assert len([pool async for pool in pools]) == 3
        return ids

    ids = run(sandbox, work)
    assert len(set(ids)) == len(ids) == 450


def test_errors_are_raised_where_they_are_awaited(sandbox, faults):
    faults({"match": {"path": "/v1/contacts"}, "reply": {"status": 404}})

    async def work(client):
        with pytest.raises(talentdata.NotFoundError) as caught:
            await client.contacts.page()
        with pytest.raises(talentdata.NotFoundError):
            [contact async for contact in client.contacts.list()]
        with pytest.raises(talentdata.InternalError, match="on purpose"):
            await client._defect()
        return caught.value.status

    assert run(sandbox, work) == 404


def test_cancellation_stops_the_call_and_leaves_the_client_usable(sandbox, faults):
    faults({"match": {"path": "/v1/version", "nth": 1}, "reply": {"delay_ms": 30_000}})

    async def work(client):
        call = asyncio.create_task(client.version())
        while sandbox.stats()["requests"] == 0:
            await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        with pytest.raises(asyncio.TimeoutError):
            faults({"match": {"path": "/v1/version", "nth": 1}, "reply": {"delay_ms": 30_000}})
            await asyncio.wait_for(client.version(), 0.2)
        return await client.version()

    assert run(sandbox, work).version == "1.8.2"


def test_a_cancelled_scan_loses_nothing(sandbox, faults):
    faults({"match": {"path": "/v1/contacts", "nth": 3}, "reply": {"delay_ms": 600}})

    async def work(client):
        records, ids, cancelled = aiter(client.contacts.list()), [], 0

        async def read():
            async for contact in records:
                ids.append(contact.id)
            return True

        while True:
            try:
                if await asyncio.wait_for(read(), 0.1):
                    return ids, cancelled
            except asyncio.TimeoutError:
                cancelled += 1

    ids, cancelled = run(sandbox, work)
    assert cancelled > 0 and len(ids) == len(set(ids)) == 450


def test_tasks_share_an_iterator(sandbox):
    async def work(client):
        records = aiter(client.contacts.list(page_size=5))

        async def read():
            return [contact.id async for contact in records]

        return sum(await asyncio.gather(*(read() for _ in range(5))), [])

    ids = run(sandbox, work)
    assert len(ids) == len(set(ids)) == 450


@pytest.mark.parametrize("name", ["to_arrow", "to_polars", "to_pandas"])
def test_a_frame_after_a_timeout_has_all_rows(name):
    options = {"records": {"contacts": 9000}, "policy": "unlimited", "faults": True}
    with talentdata.Sandbox(**options) as sandbox:
        # Behind the first batch of 4,096 rows.
        sandbox.set_faults({"match": {"path": "/v1/contacts", "from": 60}, "reply": {"delay_ms": 600_000}})

        async def work(client):
            # A page that hangs is asked for again.
            scan = client.with_options(paced=False, attempt_timeout=0.5, max_attempts=20).contacts.list()
            with pytest.raises(asyncio.TimeoutError):
                task = asyncio.ensure_future(getattr(scan, name)())
                while scan._scan.progress()[0] < 4096:
                    await asyncio.sleep(0.005)
                await asyncio.wait_for(task, 0.01)
            assert (scan.receipt.records, scan.receipt.completeness) == (0, "unfinished")
            sandbox.set_faults()
            again = asyncio.ensure_future(getattr(scan, name)())
            return len(await again), scan.receipt

        rows, receipt = run(sandbox, work)
    assert (rows, receipt.records, receipt.completeness) == (9000, 9000, "proven")


def test_several_loops_share_a_client(sandbox):
    client = sandbox.async_client()
    versions = []

    def another():
        versions.append(asyncio.run(as_coroutine(client)).version)

    async def as_coroutine(client):
        return await client.version()

    threads = [threading.Thread(target=another) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert versions == ["1.8.2"] * 4


def test_closing_a_scan_wakes_the_task_that_waits_for_it(sandbox, faults):
    faults({"match": {"path": "/v1/contacts"}, "reply": {"delay_ms": 600_000}})

    async def work(client):
        scan = client.contacts.list()
        task = asyncio.create_task(scan.to_arrow())
        while sandbox.stats()["requests_by_path"].get("/v1/contacts", 0) == 0:
            await asyncio.sleep(0.005)
        await scan.close()
        with pytest.raises(talentdata.CancelledError, match="was closed"):
            await task
        return (await client.version()).version

    assert run(sandbox, work) == "1.8.2"


def test_an_export_with_progress(sandbox, capsys, tmp_path):
    async def work(client):
        return await client.contacts.export(tmp_path / "contacts.parquet", progress=True)

    assert run(sandbox, work).records == 450
    assert "450/450" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["contacts.parquet"]


def test_a_loop_runs_on_while_a_call_is_awaited():
    async def main():
        answered = asyncio.Event()

        async def answer(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            answered.set()
            body = b'{"version": "1.8.2", "apiStatus": "operational", "endpoints": {}}'
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
            writer.close()

        # The service is a task of the very loop that awaits it.
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with talentdata.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
                return (await client.version()).version, answered.is_set()

    assert asyncio.run(main()) == ("1.8.2", True)


def test_columns(sandbox):
    async def work(client):
        arrow = await client.contacts.list().to_arrow()
        polars = await client.contacts.list().to_polars()
        pandas = await client.contacts.list().to_pandas()
        return arrow.num_rows, polars.height, len(pandas)

    assert run(sandbox, work) == (450, 450, 450)


def test_outside_of_a_loop_it_is_a_clear_error(sandbox):
    client = sandbox.async_client()
    with pytest.raises(RuntimeError, match="no running event loop"):
        client._call("getVersion", None, None)


def test_a_closed_client_says_so(sandbox):
    async def work(client):
        await client.close()
        with pytest.raises(talentdata.ClosedError):
            await client.version()
        return client.closed

    assert run(sandbox, work)
