"""Ctrl-C, by a real signal to a child process, at every place where the package waits."""

import contextlib
import pathlib
import signal
import socket
import subprocess
import sys
import types

import pytest
from support import seen, until

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
url, id, secret = sys.argv[1:4]
client = talentdata.Client(base_url=url, client_id=id, client_secret=secret, max_attempts=20, connect_timeout=60)
scan = client.contacts.list(page_size=10)
reached = iter(scan)
try:
    {before}
    threading.Thread(target=tell).start()
    {wait}
    print("not interrupted", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
sys.stdin.readline()
{after}
"""

USABLE = "print(client.version().version, flush=True)"

SLOW = {"delay_ms": 60_000}
PLACES = {
    "read": ({"path": "/v1/version"}, SLOW, "", "client.version()"),
    "token": ({"path": "/v1/oauth/token"}, SLOW, "", "client.permissions()"),
    "backoff": ({"path": "/v1/version"}, {"status": 503, "headers": {"retry-after": "50"}}, "", "client.version()"),
    "budget": (
        {"path": "/v1/pools"},
        {"headers": {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "50"}},
        "client.pools.page()",
        "client.version()",
    ),
    "iteration": ({"path": "/v1/contacts", "from": 2}, SLOW, "next(reached); native = True", "list(reached)"),
    "columns": ({"path": "/v1/contacts"}, SLOW, "", "scan.to_arrow()"),
    "stream": ({"path": "/v1/contacts"}, SLOW, "import pyarrow", "pyarrow.table(scan)"),
}


def interrupt(code, sandbox, *more, when=None):
    """Runs the child, interrupts it once `when` holds, or a request has met a fault; its output then and at its end."""
    pipe = subprocess.PIPE
    arguments = (sandbox.base_url, sandbox.client_id, sandbox.client_secret, *more)
    child = subprocess.Popen([sys.executable, "-c", code, *arguments], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    try:
        assert child.stdout.readline() == "waiting\n", child.stderr.read()
        until(when or (lambda: stuck(sandbox)))
        child.send_signal(signal.SIGINT)
        watchdog = signal.signal(signal.SIGALRM, lambda *_: child.kill())
        signal.alarm(PATIENCE)
        said = child.stdout.readline()
        signal.alarm(0)
        signal.signal(signal.SIGALRM, watchdog)
        sandbox.set_faults()
        out, err = child.communicate("\n", timeout=30)
        return said, out, err
    finally:
        child.kill()
        child.wait()
        for stream in (child.stdin, child.stdout, child.stderr):
            stream.close()


def stuck(sandbox):
    """Whether a request has met a fault rule."""
    return any(request["fault"] is not None for request in seen(sandbox))


@pytest.mark.parametrize("place", PLACES)
def test_ctrl_c_is_heard_and_the_client_stays_usable(place, sandbox):
    match, reply, before, wait = PLACES[place]
    sandbox.set_faults({"match": match, "reply": reply})
    # A wait that the service asked for outlasts the interruption: another client does not know of it.
    after = USABLE if place not in ("budget", "backoff") else "client = talentdata.Client(base_url=url); " + USABLE
    code = CHILD.format(before=before or "pass", wait=wait, after=after)
    said, out, err = interrupt(code, sandbox)
    assert said == "interrupted\n", err
    assert out == "1.8.2\n", err


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
        service = types.SimpleNamespace(
            base_url=f"http://127.0.0.1:{address[1]}", client_id="id", client_secret="a long secret", set_faults=lambda: None
        )
        code = CHILD.format(before="pass", wait="client.version()", after="print(client.closed, flush=True)")
        said, out, err = interrupt(code, service, when=lambda: True)
    assert said == "interrupted\n", err
    assert out == "False\n", err


def has_kept(path):
    """Whether there is something to continue."""
    checkpoint = pathlib.Path(f"{path}.part", "checkpoint")
    return checkpoint.exists() and '"progress":null' not in checkpoint.read_text(encoding="utf-8")


def test_ctrl_c_keeps_what_a_file_has_got(tmp_path):
    path = tmp_path / "contacts.parquet"
    file = {"before": "pass", "wait": "client.with_options(paced=False).contacts.export(sys.argv[4])"}
    # The name that catches an exception is gone behind the clause.
    code = CHILD.replace("except KeyboardInterrupt:", "except KeyboardInterrupt as error:\n    cause = error.__cause__")
    code = code.format(**file, after="print(type(cause).__name__, cause); " + USABLE)
    options = {"records": {"contacts": 20_000}, "policy": "unlimited", "faults": True}
    with talentdata.Sandbox(**options) as sandbox:
        sandbox.set_faults({"match": {"path": "/v1/contacts", "from": 120}, "reply": SLOW})
        said, out, err = interrupt(code, sandbox, str(path), when=lambda: has_kept(path) and stuck(sandbox))
        assert said == "interrupted\n", err
        kept, version = out.splitlines()
        assert kept.startswith("CancelledError") and "records are kept" in kept, out
        assert "to continue, call export() again with resume=True" in kept, out
        assert version == "1.8.2" and not path.exists()
        with sandbox.client(paced=False) as client:
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
def test_what_was_interrupted_is_never_shorter_than_its_receipt(use):
    code = CHILD.format(before=BEGIN, wait=INSIST.format(use=use), after=REPEAT.format(use=use))
    with talentdata.Sandbox(records={"contacts": 20_000}, policy="unlimited", faults=True) as sandbox:
        # Behind the first batch of 4,096 rows.
        sandbox.set_faults({"match": {"path": "/v1/contacts", "from": 120}, "reply": SLOW})
        said, out, err = interrupt(code, sandbox)
    assert said == "interrupted\n", err
    assert out == AGAIN[use] + "\n", err
