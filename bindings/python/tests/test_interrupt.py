"""Ctrl-C, by a real signal to a child process, at every place where the package waits."""

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

#: Every wait lasts longer; who is deaf to the signal fails by far, on any machine.
PATIENCE = 20

CHILD = """
import pathlib, sys, threading, time, talentdata
package = str(pathlib.Path(talentdata.__file__).parent)
native = False
def tell():
    # The main thread is within the package, and this one runs: so it waits there, without the GIL. Of what is
    # native from the caller on there is no frame: there, that a request has come has to do.
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
    # The name is gone behind the clause.
    cause = error.__cause__
    print("interrupted", flush=True)
sys.stdin.readline()
{after}
"""

USABLE = "print(client.version().version, flush=True)"

SLOW = {"delay_ms": 60_000}


def interrupt(sandbox, wait, *arguments, before="pass", after=USABLE, when=None):
    """Interrupts a child that waits, once `when` holds, or a request has met a fault; what it prints afterwards."""
    pipe = subprocess.PIPE
    code = CHILD.format(before=before, wait=wait, after=after)
    streams = {"stdin": pipe, "stdout": pipe, "stderr": pipe, "text": True}
    with subprocess.Popen([sys.executable, "-c", code, *arguments], env={**os.environ, **variables(sandbox)}, **streams) as child:
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
    """Whether a request has met a fault rule."""
    with urllib.request.urlopen(f"{sandbox.base_url}/__requests") as answer:
        return any(request["fault"] is not None for request in json.load(answer)["requests"])


#: What is slow, how, what comes before, and what waits.
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
def test_ctrl_c_is_heard_and_the_client_stays_usable(place, sandbox, tmp_path):
    match, reply, before, wait = PLACES[place]
    sandbox.set_faults({"match": match, "reply": reply})
    # A wait that the service asked for outlasts the interruption: another client does not know of it.
    other = "client = talentdata.Client(client_id='other'); "
    after = (other if place in ("budget", "backoff") else "") + USABLE
    assert interrupt(sandbox, wait, str(tmp_path / "mirror.db"), before=before, after=after) == "1.8.2\n"
    assert not (tmp_path / "mirror.db").exists()


def test_ctrl_c_is_heard_while_connecting():
    with socket.socket() as full, contextlib.ExitStack() as waiting:
        # A queue of connections that nobody accepts: once it is full, connecting waits.
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
    """A service that stops behind the first batch of 4,096 rows."""
    with talentdata.Sandbox(records={"contacts": 20_000}, policy="unlimited", faults=True) as sandbox:
        sandbox.set_faults({"match": {"path": "/v1/contacts", "from": 120}, "reply": SLOW})
        yield sandbox


def test_ctrl_c_keeps_what_a_file_has_got(stopping, tmp_path):
    path = tmp_path / "contacts.parquet"
    wait = "client.with_options(paced=False).contacts.export(sys.argv[1])"
    after = "print(type(cause).__name__, cause); " + USABLE
    out = interrupt(stopping, wait, str(path), after=after, when=lambda: kept(path) and stuck(stopping))
    said, version = out.splitlines()
    # How many records are kept is said where the export has time for it before the call returns.
    assert said.startswith("CancelledError"), out
    assert "to continue, call export() again with resume=True; to begin again, call it with restart=True" in said, out
    assert version == "1.8.2" and not path.exists()
    with stopping.client(paced=False) as client:
        receipt = client.contacts.export(path, resume=True)
    assert (receipt.resumed, receipt.records, receipt.completeness) == (1, 20_000, "proven")


#: What is interrupted, and what comes of doing it again: all rows, or a refusal that says what to do.
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
    # A page that hangs is asked for again, but not for long: DuckDB waits on threads of its own, which no signal reaches.
    scan = client.with_options(paced=False, attempt_timeout=0.5, max_outage=8).contacts.list()
    records, got, native = iter(scan), [], True"""

#: As a program does that goes on after an error: what other libraries make of the interruption is one.
INSIST = """for _ in range(1000):
        try:
            {use}
        except Exception as error:
            # DuckDB looks for signals, too, and makes an error of its own of one that it sees first.
            if str(error) == "Query interrupted":
                raise KeyboardInterrupt"""

REPEAT = """
try:
    print(len({use}), scan.receipt.records, scan.receipt.completeness)
except Exception as error:
    print("refused" if "list()" in str(error) and scan.receipt.completeness == "unfinished" else error)
"""


@pytest.mark.parametrize("use", AGAIN)
def test_what_was_interrupted_is_never_shorter_than_its_receipt(use, stopping):
    wait, again = INSIST.format(use=use), REPEAT.format(use=use)
    assert interrupt(stopping, wait, before=BEGIN, after=again) == AGAIN[use] + "\n"


def test_ctrl_c_ends_a_read_on_the_threads_of_duckdb(stopping):
    wait = INSIST.format(use="duckdb.sql('from scan').fetchall()").replace("1000", "1")
    assert interrupt(stopping, wait, before="import duckdb; native = True") == "1.8.2\n"
