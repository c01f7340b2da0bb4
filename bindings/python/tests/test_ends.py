"""Ends of interpreters and processes. Each is silent and quick, and a call succeeds or raises `ClosedError`."""

import os
import subprocess
import sys

import pytest
from support import variables

HEAD = """
import asyncio, atexit, builtins, concurrent.futures, gc, json, logging, os, signal, sys, threading, time, urllib.request
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters

def use_late():
    print(asyncio.run(use_async()), call(), flush=True)
"""
CLIENT = """
import talentdata
client = talentdata.Client(paced=False)
def call():
    try:
        return client.version().version
    except talentdata.ClosedError:
        return "closed"
async def use_async():
    try:
        async with talentdata.AsyncClient(paced=False) as own:
            return (await own.version()).version
    except talentdata.ClosedError:
        return "closed"
def hang():
    "A call that has no response."
    client.pools.page(limit=1, offset=0)
def hanging(count=1):
    for _ in range(count):
        threading.Thread(target=hang, daemon=True).start()
    while stats()["requests_by_path"].get("/v1/pools", 0) < count:
        time.sleep(0.01)
def stats():
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return json.load(opener.open(os.environ["TALENTDATA_BASE_URL"] + "/__stats"))
def begun():
    "A scan that has more records."
    records = iter(client.contacts.list())
    next(records)
    return records
"""

# A destructor makes calls with its own client and with a new one, raises an error, and reads a value that needs another
# module.
LATE = """
class Late:
    def __init__(self):
        self.me, self.client, self.records = self, client, begun()
    def __del__(self, write=os.write, make=talentdata.Client, wrong=talentdata.InvalidArgumentError):
        next(self.records)
        self.client.version()["endpoints"]
        try:
            make(paced=False).contacts.page(limit=1000, offset=0)
        except wrong:
            write(1, b"late\\n")
"""
LOG = """
class Handler(logging.Handler):
    def emit(self, record):
        leave()
logging.getLogger("talentdata").addHandler(Handler())
logging.getLogger("talentdata").setLevel(logging.DEBUG)
def leave():
    print("left", flush=True)
    sys.exit(0)
"""
CHILD = """
child = os.fork()
if child == 0:
    assert call() == talentdata.Client(paced=False).version().version == "1.8.2"
    {}
else:
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), call())
"""
SUB = """
one = interpreters.create()
try:
    refused = interpreters.run_string(one, "import talentdata")
except Exception as error:
    refused = error
interpreters.destroy(one)
assert "talentdata works in the main interpreter only" in str(refused), refused
"""
POOLS = """
import multiprocessing
def work(_):
    return call()
def wait(_):
    hang()
if __name__ == "__main__":
    kept = begun()
    method = multiprocessing.get_context("{method}")
    if "{method}" == "forkserver":
        method.set_forkserver_preload(["talentdata"])
    with method.Pool(2) as pool:
        print(*pool.map(work, range(2)))
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=method) as pool:
        print(*pool.map(work, range(2)))
    pool = method.Pool(2)
    pool.map_async(wait, range(2))
    while stats()["requests_by_path"].get("/v1/pools", 0) < 2:
        time.sleep(0.01)
    pool.terminate()
    pool.join()
"""

#: Programs, and their expected output.
ENDS = {
    "os._exit with a scan open": ("kept = begun()\nhanging()\nos._exit(0)", ""),
    "os._exit of a thread": (
        "def end():\n    hanging()\n    os._exit(0)\nthreading.Thread(target=end).start()\nhang()",
        "",
    ),
    "os._exit in a log handler": (f"{LOG}\ndef leave():\n    os._exit(0)\ncall()", ""),
    "daemon threads that wait": ("hanging(3)", ""),
    "daemon threads at work": (
        """
def scan():
    while True:
        begun(), call(), list(client.contacts.list())
for _ in range(3):
    threading.Thread(target=scan, daemon=True).start()
begun()
""",
        "",
    ),
    "an event loop of a daemon thread": (
        """
own = talentdata.AsyncClient(paced=False)
async def scan():
    while True:
        async for record in own.contacts.list():
            running.set()
async def both():
    await asyncio.gather(scan(), own.pools.page(limit=1, offset=0))
running = threading.Event()
threading.Thread(target=lambda: asyncio.run(both()), daemon=True).start()
running.wait()
""",
        "",
    ),
    "an event loop that was left": (
        """
async def begin():
    own = talentdata.AsyncClient(paced=False)
    records = aiter(own.contacts.list())
    await anext(records)
    return own, records, own.version(), own.pools.page(limit=1, offset=0)
loop = asyncio.new_event_loop()
own, records, *calls = loop.run_until_complete(begin())
[call.close() for call in calls]
""",
        "",
    ),
    "an exit handler before the import": (f"{HEAD}atexit.register(use_late)\n{CLIENT}", "closed 1.8.2\n"),
    "an exit handler after the import": ("atexit.register(use_late)", "1.8.2 1.8.2\n"),
    "an exit handler after close": ("atexit.register(use_late)\natexit.register(client.close)", "1.8.2 closed\n"),
    "a thread that outlives main": (
        """
def outlive():
    threading.main_thread().join()
    print(call(), talentdata.Client(paced=False).version().version, len(list(client.contacts.list())))
threading.Thread(target=outlive).start()
""",
        "1.8.2 1.8.2 450\n",
    ),
    "an executor with work left": (
        "executor = concurrent.futures.ThreadPoolExecutor(2)\n[executor.submit(lambda: os.write(1, call().encode())) for _ in range(9)]",
        "1.8.2" * 9,
    ),
    "a cycle at the end": (f"{LATE}\nlate = Late()", "late\n"),
    "a cycle that outlives every module": (f"{LATE}\nbuiltins.late = Late()", "late\n"),
    "a cycle that is collected": (f"{LATE}\nLate()\ngc.collect()", "late\n"),
    "sys.exit in a log handler": (f"{LOG}\ncall()\nprint('went on')", "left\n"),
    "sys.exit in a log handler of a loop": (f"{LOG}\nasyncio.run(use_async())\nprint('went on')", "left\n"),
    "sys.exit in a log handler of a thread": (
        f"{LOG}\nthread = threading.Thread(target=call)\nthread.start()\nthread.join()\nprint('went on')",
        "left\nwent on\n",
    ),
    "sys.exit in a signal handler": (
        "signal.signal(signal.SIGUSR1, lambda *_: sys.exit(0))\n"
        "threading.Thread(target=lambda: (hanging(), os.kill(os.getpid(), signal.SIGUSR1))).start()\nhang()",
        "",
    ),
    "a call in a signal handler": (
        "signal.signal(signal.SIGUSR1, lambda *_: (print(call(), flush=True), os._exit(0)))\n"
        "threading.Thread(target=lambda: (hanging(), os.kill(os.getpid(), signal.SIGUSR1))).start()\nhang()",
        "1.8.2\n",
    ),
    "an exec of another program": ("kept = begun()\nhanging()\nos.execvp('true', ['true'])", ""),
    "a sub-interpreter is refused": (f"{SUB}\nprint(call(), asyncio.run(use_async()))", "1.8.2 1.8.2\n"),
    **{
        f"a child that ends by {end}": (f"kept = begun()\nhanging()\n{CHILD.format(end)}", "0 1.8.2\n")
        for end in ("os._exit(0)", "sys.exit(0)", "pass")
    },
    "a child of a thread": (
        f"def fork():\n{CHILD.format('os._exit(0)').replace(chr(10), chr(10) + '    ')}\n"
        "thread = threading.Thread(target=fork)\nthread.start()\nthread.join()",
        "0 1.8.2\n",
    ),
    **{
        f"processes by {method}": (POOLS.format(method=method), "1.8.2 1.8.2\n" * 2)
        for method in ("fork", "spawn", "forkserver")
    },
}


@pytest.mark.parametrize("end", ENDS)
def test_an_end_is_silent(end, sandbox, tmp_path):
    code, prints = ENDS[end]
    sandbox.set_faults({"match": {"path": "/v1/pools"}, "reply": {"delay_ms": 600_000}})
    script = tmp_path / "program.py"
    script.write_text(code if code.startswith(HEAD) else HEAD + CLIENT + code, encoding="utf-8")
    command = [sys.executable, "-W", "ignore::DeprecationWarning", str(script)]
    environment = {**os.environ, **variables(sandbox)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert (done.stdout, done.stderr, done.returncode) == (prints, "", 0)
