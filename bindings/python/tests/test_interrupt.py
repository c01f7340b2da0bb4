"""Ctrl-C as a real signal to a child process, at every place where the package waits."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import types
import urllib.request

import pytest
from support import kept, until, variables

import talentdata

#: The time to react to the signal, in seconds. Every wait lasts far longer, so a child that ignores the signal fails.
PATIENCE = 20

CHILD = """
import pathlib, sys, threading, time, talentdata
package = str(pathlib.Path(talentdata.__file__).parent)
native = False
def tell():
    # If the main thread is in the package while this thread runs, it waits there, without the GIL. A native call has
    # no Python frame, so the test waits for a request instead.
    main = threading.main_thread().ident
    while not native and not sys._current_frames()[main].f_code.co_filename.startswith(package):
        time.sleep(0.001)
    print("waiting", flush=True)
client = talentdata.Client(max_attempts=20, connect_timeout=60)
scan = client.contacts.list(page_size=10)
reached = iter(scan)
try:
    {before}
    threading.Thread(target=tell).start()
    {wait}
    print("not interrupted", flush=True)
except KeyboardInterrupt as error:
    # Python deletes the name `error` at the end of the clause.
    cause = error.__cause__
    print("interrupted", flush=True)
sys.stdin.readline()
{after}
"""

USABLE = "print(client.version().version, flush=True)"

SLOW = {"delay_ms": 60_000}


def interrupt(sandbox, wait, *arguments, before="pass", after=USABLE, when=None):
    """Interrupts a waiting child, and returns its later output.

    The signal is sent when `when` holds, or by default when a request has met a fault rule.
    """
    pipe = subprocess.PIPE
    code = CHILD.format(before=before, wait=wait, after=after)
    streams = {"stdin": pipe, "stdout": pipe, "stderr": pipe, "text": True}
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments], env={**os.environ, **variables(sandbox)}, **streams
    ) as child:
        watchdog = threading.Timer(PATIENCE, child.kill)
        try:
            assert child.stdout.readline() == "waiting\n", child.stderr.read()
            until(when or (lambda: stuck(sandbox)))
            child.send_signal(signal.SIGINT)
            watchdog.start()
            said = child.stdout.readline()
            watchdog.cancel()
            sandbox.set_faults()
            out, err = child.communicate("\n", timeout=120)
            assert said == "interrupted\n", err
            return out or err
        finally:
            child.kill()


def stuck(sandbox):
    """Returns whether a request has met a fault rule."""
    with urllib.request.urlopen(f"{sandbox.base_url}/__requests") as answer:
        return any(request["fault"] is not None for request in json.load(answer)["requests"])


#: For each place: the slow request, its fault, the code before the wait, and the code that waits.
PLACES = {
    "read": ({"path": "/v1/version"}, SLOW, "pass", "client.version()"),
    "token": ({"path": "/v1/oauth/token"}, SLOW, "pass", "client.permissions()"),
    "backoff": ({"path": "/v1/version"}, {"status": 503, "headers": {"retry-after": "50"}}, "pass", "client.version()"),
    "budget": (
        {"path": "/v1/pools"},
        {"headers": {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "50"}},
        "client.pools.page()",
        "client.version()",
    ),
    "iteration": ({"path": "/v1/contacts", "from": 2}, SLOW, "next(reached); native = True", "list(reached)"),
    "columns": ({"path": "/v1/contacts"}, SLOW, "pass", "scan.to_arrow()"),
    "stream": ({"path": "/v1/contacts"}, SLOW, "import pyarrow", "pyarrow.table(scan)"),
    "sync": ({"path": "/v1/contacts", "from": 2}, SLOW, "pass", "client.sync(['contacts'], sys.argv[1])"),
}


@pytest.mark.parametrize("place", PLACES)
def test_ctrl_c_ends_a_wait_and_the_client_stays_usable(place, sandbox, tmp_path):
    match, reply, before, wait = PLACES[place]
    sandbox.set_faults({"match": match, "reply": reply})
    # The wait that the service requested outlasts the interruption, so another client makes the next call.
    other = "client = talentdata.Client(client_id='other'); "
    after = (other if place in ("budget", "backoff") else "") + USABLE
    assert interrupt(sandbox, wait, str(tmp_path / "mirror.db"), before=before, after=after) == "1.8.2\n"
    assert not (tmp_path / "mirror.db").exists()


def test_ctrl_c_ends_connecting():
    with socket.socket() as full, contextlib.ExitStack() as waiting:
        # The queue of connections is full and nobody accepts them, so that connecting waits.
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        for _ in range(4):
            one = waiting.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(address)
        credentials = {"client_id": "id", "client_secret": "a long secret", "set_faults": lambda: None}
        service = types.SimpleNamespace(base_url=f"http://127.0.0.1:{address[1]}", **credentials)
        after = "print(client.closed, flush=True)"
        assert interrupt(service, "client.version()", after=after, when=lambda: True) == "False\n"


@pytest.fixture
def stopping():
    """A service that hangs after the first batch of 4,096 rows."""
    with talentdata.Sandbox(records={"contacts": 20_000}, policy="unlimited", faults=True) as sandbox:
        sandbox.set_faults({"match": {"path": "/v1/contacts", "from": 120}, "reply": SLOW})
        yield sandbox


def test_ctrl_c_keeps_the_records_of_an_export(stopping, tmp_path):
    path = tmp_path / "contacts.parquet"
    wait = "client.with_options(paced=False).contacts.export(sys.argv[1])"
    after = "print(type(cause).__name__, cause); " + USABLE
    out = interrupt(stopping, wait, str(path), after=after, when=lambda: kept(path) and stuck(stopping))
    said, version = out.splitlines()
    # The message has the number of kept records only if the export ends before the call returns.
    assert said.startswith("CancelledError"), out
    assert "to continue, call export() again with resume=True; to begin again, call it with restart=True" in said, out
    assert version == "1.8.2" and not path.exists()
    with stopping.client(paced=False) as client:
        receipt = client.contacts.export(path, resume=True)
    assert (receipt.resumed, receipt.records, receipt.completeness) == (1, 20_000, "proven")


#: The outcome of repeating each interrupted use: all rows, or a refusal that names the solution.
WHOLE, REFUSED = "20000 20000 proven", "refused"
AGAIN = {
    "scan.to_arrow()": WHOLE,
    "got.extend(records) or got": WHOLE,
    "list(scan)": REFUSED,
    "polars.DataFrame(scan)": REFUSED,
    "pyarrow.table(scan)": REFUSED,
    "duckdb.sql('from scan').fetchall()": REFUSED,
}

BEGIN = """import duckdb, pandas, polars, pyarrow
    # The client requests a hanging page again, but not for long: DuckDB waits on its own threads, without signals.
    scan = client.with_options(paced=False, attempt_timeout=0.5, max_outage=8).contacts.list()
    records, got, native = iter(scan), [], True"""

#: A program that repeats the use after an error. Other libraries turn the interruption into an error.
INSIST = """for _ in range(1000):
        try:
            {use}
        except Exception as error:
            # DuckDB also checks for signals, and raises its own error if it sees a signal first.
            if str(error) == "Query interrupted":
                raise KeyboardInterrupt"""

REPEAT = """
try:
    print(len({use}), scan.receipt.records, scan.receipt.completeness)
except Exception as error:
    print("refused" if "list()" in str(error) and scan.receipt.completeness == "unfinished" else error)
"""


@pytest.mark.parametrize("use", AGAIN)
def test_an_interrupted_result_is_never_shorter_than_its_receipt(use, stopping):
    wait, again = INSIST.format(use=use), REPEAT.format(use=use)
    assert interrupt(stopping, wait, before=BEGIN, after=again) == AGAIN[use] + "\n"


def test_ctrl_c_ends_a_read_on_the_threads_of_duckdb(stopping):
    wait = INSIST.format(use="duckdb.sql('from scan').fetchall()").replace("1000", "1")
    assert interrupt(stopping, wait, before="import duckdb; native = True") == "1.8.2\n"
