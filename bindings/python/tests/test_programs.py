"""Programs that run in their own interpreter: handlers, threads, forks, and the end of the interpreter."""

import pytest
from support import SERVICE, python

# A handler uses the client while a call waits.
SIGNAL = """
import pyarrow
got = []
signal.signal(signal.SIGALRM, lambda *_: got.append([client.version().version, len(list(client.pools.list()))]))
for use in (list, lambda scan: scan.to_arrow(), pyarrow.table):
    sandbox.set_faults({"match": {"path": "/v1/contacts", "nth": 2}, "reply": {"delay_ms": 700}})
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    print(len(use(client.contacts.list())), got.pop(), got)
"""

# Calls `hear` for each message.
LISTEN = """
class Handler(logging.Handler):
    def emit(self, record):
        hear(record.getMessage())
logging.getLogger("talentdata").addHandler(Handler())
logging.getLogger("talentdata").setLevel(logging.DEBUG)
"""

HANDLER = (
    LISTEN
    + """
got = []
def hear(message):
    if message.startswith("retrying") and not got:
        got.append(client.permissions().roles)
sandbox.set_faults({"match": {"path": "/v1/version", "nth": 1}, "reply": {"status": 503, "headers": {"retry-after": "1"}}})
print(client.version().version, got)
"""
)

# Two threads that log do not wait for each other.
LOGGING = (
    LISTEN
    + """
lock, heard = threading.Lock(), 0
def hear(message):
    global heard
    with lock:  # another thread may hold it, and wait for the interpreter lock of this thread
        heard += message.startswith("received a response operation=getVersion")
sys.setswitchinterval(1e-5)
stop = threading.Event()
def load():
    while not stop.is_set():
        sum(range(1000))
def work():
    for _ in range(500):
        client.version()
threading.Thread(target=load).start()
threads = [threading.Thread(target=work) for _ in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
stop.set()
print(heard)
"""
)

BUSY = (
    LISTEN
    + """
heard = 0
def hear(message):
    # This does not write to a file, because another thread may hold the lock of a file when this process forks.
    global heard
    heard += message.startswith("received a response")
def work():
    while True:
        client.version()
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
"""
)

# Forked children continue to log.
FORKING = (
    BUSY
    + """
for _ in range(30):
    child = os.fork()
    if child == 0:
        before = heard
        client.version()
        os._exit(0 if heard == before + 1 else 3)
    assert os.waitpid(child, 0)[1] == 0
print("done", flush=True)
os._exit(0)
"""
)

# The interpreter ends while threads log.
ENDING = BUSY + "client.version()\n"

# An interrupted iterator loses no record. At 40 requests a second the 50 pages take more than a second.
INTERRUPTED = """
import operator
client = sandbox.client()
reading = False
def interrupt(*_):
    # Interrupts each read once. A late signal interrupts no other code.
    global reading
    if reading:
        reading = False
        raise KeyboardInterrupt
scan = client.contacts.list(page_size=10)
records, ids, interrupted = iter(scan), [], 0
signal.signal(signal.SIGALRM, interrupt)
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
while True:
    try:
        reading = True
        # `extend` and `map` are native, so the interruption happens in the iterator.
        ids.extend(map(operator.itemgetter("id"), records))
        break
    except KeyboardInterrupt:
        interrupted += 1
signal.setitimer(signal.ITIMER_REAL, 0)
print(len(ids), len(set(ids)), scan.receipt.records, scan.receipt.completeness, interrupted > 10)
"""

# Ctrl-C interrupts a child that another thread forked.
INTERRUPTED_CHILD = """
import pandas, pyarrow  # pyarrow imports pandas for its first table, where a signal may be lost
client.version()
def fork():
    child = os.fork()
    if child:
        return
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        pyarrow.table(client.contacts.list(page_size=100))
    except BaseException as error:
        os._exit(0 if "interrupted" in str(error) or isinstance(error, KeyboardInterrupt) else 3)
    os._exit(4)
sandbox.set_faults({"match": {"path": "/v1/contacts", "from": 2}, "reply": {"delay_ms": 20000}})
thread = threading.Thread(target=fork)
thread.start()
thread.join()
begun = time.monotonic()
print(os.waitpid(-1, 0)[1], time.monotonic() - begun < 10)
"""

# Creating an exception runs Python code, which may switch threads, so no lock may be held then. A deadlock would run
# into the timeout.
REFUSED = """
sys.setswitchinterval(1e-6)
client.close()
refused = []
def use():
    for _ in range(1000):
        try:
            client.version()
        except talentdata.ClosedError:
            refused.append(1)
threads = [threading.Thread(target=use) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(refused))
"""

# The interpreter ends during these calls.
READING = """
def scan():
    for contact in client.contacts.list(page_size=1):
        pass
threads = [threading.Thread(target=scan, daemon=True) for _ in range(4)]
[thread.start() for thread in threads]
kept = client.contacts.list(page_size=1)
next(iter(kept))
print("end")
"""

# The thread that delivers the last response may still be in Python when the interpreter shuts down.
AWAITED = """
async def main():
    async with sandbox.async_client() as client:
        await asyncio.gather(*(client.version() for _ in range(5)))
asyncio.run(main())
print("awaited")
"""

# Without a handler of the application, the package prints no messages.
SILENT = """
sandbox.set_faults({"match": {"path": "/v1/version", "nth": 1}, "reply": {"status": 503}})
client.version()
"""

#: The code, the expected output, and the number of runs of each program.
PROGRAMS = {
    "signal": (SIGNAL, "450 ['1.8.2', 3] []\n" * 3, 1),
    "handler": (HANDLER, "1.8.2 [['sandbox-user']]\n", 1),
    "logging": (LOGGING, "1000\n", 1),
    "forking": (FORKING, "done\n", 1),
    "ending": (ENDING, "", 5),
    "interrupted": (INTERRUPTED, "450 450 450 proven True\n", 1),
    "interrupted child": (INTERRUPTED_CHILD, "0 True\n", 1),
    "silent": (SILENT, "", 1),
    "refused": (REFUSED, "4000\n", 1),
    "reading": (READING, "end\n", 2),
    "awaited": (AWAITED, "awaited\n", 10),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program(name):
    code, prints, times = PROGRAMS[name]
    for _ in range(times):
        assert python(SERVICE + code) == prints
