"""Memory stays as it is, however many calls are made and records are read."""

import asyncio
import gc
import weakref

import pytest
from support import SERVICE, python, until

CODE = SERVICE + """
import gc
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
sandbox = talentdata.Sandbox(records={"contacts": 20_000}, policy="unlimited")
client = sandbox.client(paced=False)
class Holder(talentdata.Client):
    pass
def cycles():
    for _ in range(10):
        holder = Holder(base_url=client.base_url, client_id=sandbox.client_id, client_secret=sandbox.client_secret)
        holder.scan = holder.contacts.list()
        holder.records = iter(holder.scan)
        holder.first = next(holder.records)
    gc.collect()
def calls():
    for _ in range(500):
        client.version().endpoints["taxonomy"].status
def failures():
    for _ in range(500):
        try:
            client.contacts.page(limit=500)
        except talentdata.InvalidArgumentError:
            pass
def scans():
    assert sum(len(contact.first_name) for contact in client.contacts.list()) > 20_000
def abandoned():
    for _ in range(20):
        with client.contacts.list(page_size=10) as scan:
            next(iter(scan))
def objects():
    for number in range(5_000):
        record = talentdata.Record('{"id": %d, "a": [1, {"b": 2.5}]}' % number)
        record.to_dict(), repr(record), record["a"], record.extra
"""

GROWTH = """
work = locals()[sys.argv[1]]
for _ in range(2):
    work()
before = resident()
for _ in range(4):
    work()
print(resident() - before)
"""

# What reading takes is taken before.
KEPT = """
scans()
before = resident()
kept = [contact for number, contact in enumerate(client.contacts.list()) if number % 100 == 0]
print(len(kept), sum(len(contact.json) for contact in kept), resident() - before)
"""


@pytest.mark.parametrize("work", ["calls", "failures", "scans", "abandoned", "objects", "cycles"])
def test_memory_stays_as_it_is(work):
    # What four times as much work as before leaves behind; an allocator may keep a little.
    assert int(python(CODE + GROWTH, work)) < 4 << 20


def test_a_record_that_is_kept_keeps_no_page():
    count, size, more = map(int, python(CODE.replace("20_000", "60_000") + KEPT).split())
    # One record of each page, which holds a hundred of them.
    assert count == 600 and more < 100 * size / 3


def test_an_event_loop_that_is_never_run_again_is_collected(sandbox, async_client):
    async def call():
        return async_client._call("getVersion", None, None)

    # The response comes when the loop does not run any more.
    sandbox.set_faults({"reply": {"delay_ms": 500}})
    loop = asyncio.new_event_loop()
    future = loop.run_until_complete(call())
    until(lambda: loop._ready)
    gone = weakref.ref(future)
    # As `close` does, which would also forget the response.
    loop._selector.close(), loop._ssock.close(), loop._csock.close()
    loop._closed = True
    del loop, future
    # The thread that has brought the response may still be about to let go of the loop.
    until(lambda: gc.collect() >= 0 and gone() is None)
