"""Memory stays as it is, however many calls are made and records are read."""

import pytest
from support import python

CODE = """
import os, talentdata
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
sandbox = talentdata.Sandbox(records={"contacts": 20_000}, policy="unlimited")
client = sandbox.client(paced=False)
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
def pages():
    assert sum(len(page) for page in client.contacts.pages(100)) == 20_000
def objects():
    for number in range(5_000):
        record = talentdata.Record('{"id": %d, "a": [1, {"b": 2.5}]}' % number)
        record.to_dict(), repr(record), record["a"], record.extra
work = {WORK}
for _ in range(2):
    work()
before = resident()
for _ in range(4):
    work()
print(resident() - before)
"""


@pytest.mark.parametrize("work", ["calls", "failures", "scans", "abandoned", "pages", "objects"])
def test_memory_stays_as_it_is(work):
    result = python(CODE.replace("{WORK}", work))
    assert result.returncode == 0, result.stderr
    # What four times as much work as before leaves behind; an allocator may keep a little.
    assert int(result.stdout) < 4 << 20
