"""Handlers that use the client while a call waits, threads that log, and streams that are interrupted or broken."""

import pytest
from support import python
from test_interrupt import CHILD, INSIST, SLOW, USABLE, interrupt

import talentdata

START = """
import logging, os, signal, sys, threading, talentdata
sandbox = talentdata.Sandbox(records={"contacts": 450, "pools": 3}, policy="unlimited", faults=True)
client = sandbox.client(paced=False)
"""

SIGNAL = """
got = []
signal.signal(signal.SIGALRM, lambda *_: got.append([client.version().version, len(list(client.pools.list()))]))
sandbox.set_faults({"match": {"path": "/v1/contacts", "from": 2}, "reply": {"delay_ms": 700}})
signal.setitimer(signal.ITIMER_REAL, 0.2)
print(len({use}), got)
"""


@pytest.mark.parametrize(
    "use", ["list(client.contacts.list(page_size=100))", "client.contacts.list().to_arrow()", "pyarrow.table(client.contacts.list())"]
)
def test_a_signal_handler_uses_the_client_while_a_call_waits(use):
    result = python(START + "import pyarrow\n" + SIGNAL.replace("{use}", use))
    assert result.stdout == "450 [['1.8.2', 3]]\n", result.stderr


def test_a_logging_handler_uses_the_client_while_a_call_waits():
    code = START + """
got = []
class Handler(logging.Handler):
    def emit(self, record):
        if record.getMessage().startswith("retrying") and not got:
            got.append(client.permissions().roles)
logging.getLogger("talentdata").addHandler(Handler())
logging.getLogger("talentdata").setLevel(logging.DEBUG)
sandbox.set_faults({"match": {"path": "/v1/version", "nth": 1}, "reply": {"status": 503, "headers": {"retry-after": "1"}}})
print(client.version().version, got)
"""
    result = python(code)
    assert result.stdout == "1.8.2 [['sandbox-user']]\n", result.stderr


def test_two_threads_that_log_do_not_wait_for_each_other():
    code = START + """
lock, heard = threading.Lock(), 0
class Handler(logging.Handler):
    def emit(self, record):
        global heard
        with lock:  # another thread may hold it, and wait for this one's interpreter lock
            heard += record.getMessage().startswith("received a response operation=getVersion")
logging.getLogger("talentdata").addHandler(Handler())
logging.getLogger("talentdata").setLevel(logging.DEBUG)
sys.setswitchinterval(1e-5)
stop = threading.Event()
def load():
    while not stop.is_set():
        sum(range(1000))
def work():
    for _ in range(500):
        client.version()
busy = threading.Thread(target=load)
busy.start()
threads = [threading.Thread(target=work) for _ in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
stop.set()
print(heard)
"""
    result = python(code)
    assert result.stdout == "1000\n", result.stderr


def test_ctrl_c_ends_a_read_on_the_threads_of_duckdb():
    wait = INSIST.format(use="duckdb.sql('from scan').fetchall()").replace("1000", "1")
    code = CHILD.format(before="import duckdb; native = True", wait=wait, after=USABLE)
    with talentdata.Sandbox(records={"contacts": 20_000}, policy="unlimited", faults=True) as sandbox:
        sandbox.set_faults({"match": {"path": "/v1/contacts", "from": 120}, "reply": SLOW})
        said, out, err = interrupt(code, sandbox)
    assert (said, out) == ("interrupted\n", "1.8.2\n"), err


def test_ctrl_c_is_heard_in_a_child_that_another_thread_forked():
    code = START + """
import _thread, pyarrow, time
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
    result = python(code)
    assert result.stdout == "0 True\n", result.stderr


def test_a_stream_that_has_failed_stays_failed(client, faults):
    pyarrow = pytest.importorskip("pyarrow")
    faults({"match": {"path": "/v1/contacts", "from": 3}, "reply": {"status": 403}})
    reader = pyarrow.RecordBatchReader.from_stream(client.contacts.list(page_size=10))
    with pytest.raises(Exception, match="may not do this"):
        reader.read_all()
    for _ in range(3):
        with pytest.raises(Exception, match="may not do this"):
            reader.read_next_batch()


def test_rows_of_a_mirror_are_those_of_the_moment_they_were_asked_for(tmp_path):
    with talentdata.Sandbox(records={"pools": 40}, policy="unlimited") as sandbox, sandbox.client(paced=False) as client:
        client.sync(["pools"], tmp_path / "mirror.db")
        rows = talentdata.Mirror(tmp_path / "mirror.db").current("pools")
        sandbox.change("pools", insert=5)
        client.sync(["pools"], tmp_path / "mirror.db")
        assert rows.to_arrow().num_rows == 40
        assert rows.to_arrow().num_rows == 45


def test_several_lists_in_one_export_have_schemas_of_their_own(client, tmp_path):
    schema = client.ja_tasks.schema(columns="json")
    receipts = client.export(["contacts", "ja-tasks"], tmp_path / "lists", format="parquet", schema={"ja-tasks": schema})
    assert [(one.resource, one.records) for one in receipts] == [("contacts", 450), ("ja_tasks", 230)]
    assert [one.schema is None for one in receipts] == [True, False]
    for receipt in receipts:
        assert talentdata.verify(tmp_path / "lists" / f"{receipt.resource}.parquet", receipt)
    with pytest.raises(talentdata.InvalidArgumentError, match="pools is not among"):
        client.export(["contacts"], tmp_path, schema={"pools": schema})


def test_what_people_try_is_right_or_refused_with_the_way_out(client, sandbox):
    pandas = pytest.importorskip("pandas")
    with pytest.raises(talentdata.InvalidArgumentError, match=r"to_pandas\(\)"):
        pandas.DataFrame(client.contacts.list())
    with pytest.raises(AttributeError, match=r'record\["createdAt"\]'):
        client.contacts.page(1)[0].created_at  # noqa: B018
    scan = client.contacts.list(limit=10)
    assert len(list(scan)) == 10 and scan.receipt.completeness == "limited"
    scan.receipt.require_proven()
    with client.contacts.list() as scan, pytest.raises(talentdata.IncompleteError, match="unfinished"):
        next(iter(scan))
        scan.receipt.require_proven()
