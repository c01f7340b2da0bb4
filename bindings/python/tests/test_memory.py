"""Memory does not grow with the number of calls and records."""

import asyncio
import gc
import weakref

import pytest
from support import SERVICE, python, until

CODE = (
    SERVICE
    + """
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
)

GROWTH = """
work = locals()[sys.argv[1]]
for _ in range(2):
    work()
before = resident()
for _ in range(4):
    work()
print(resident() - before)
"""

# The first scan allocates the memory that reading needs, before the measurement.
KEPT = """
scans()
before = resident()
kept = [contact for number, contact in enumerate(client.contacts.list()) if number % 100 == 0]
print(len(kept), sum(len(contact.json) for contact in kept), resident() - before)
"""


@pytest.mark.parametrize("work", ["calls", "failures", "scans", "abandoned", "objects", "cycles"])
def test_memory_does_not_grow(work):
    # This is the growth during twice as much work as before the measurement. The allocator may keep a little memory.
    assert int(python(CODE + GROWTH, work)) < 4 << 20


def test_a_kept_record_does_not_keep_its_page():
    count, size, more = map(int, python(CODE.replace("20_000", "60_000") + KEPT).split())
    # One record of each page is kept, and a page has a hundred records.
    assert count == 600 and more < 100 * size / 3


def test_an_event_loop_that_is_never_run_again_is_collected(sandbox, async_client):
    async def call():
        return async_client._call("getVersion", None, None)

    # The response arrives after the loop stopped.
    sandbox.set_faults({"reply": {"delay_ms": 500}})
    loop = asyncio.new_event_loop()
    future = loop.run_until_complete(call())
    until(lambda: loop._ready)  # noqa: F821 (it is deleted later)
    gone = weakref.ref(future)
    # These are the steps of `close`, except that `close` would also drop the response.
    loop._selector.close(), loop._ssock.close(), loop._csock.close()
    loop._closed = True
    del loop, future
    # The thread that delivered the response may still hold the loop for a short time.
    until(lambda: gc.collect() >= 0 and gone() is None)
