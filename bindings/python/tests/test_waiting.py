"""While a call waits: handlers that use the client, threads that log, messages as records of Python's logging."""

import asyncio
import logging
import time

import pytest
from support import SERVICE, python

VERSION = {"path": "/v1/version"}

#: Nobody waits for the second attempt.
MUCH_LATER = {"match": VERSION, "reply": {"status": 503, "headers": {"retry-after": "50"}}}

SIGNAL = """
import pyarrow
got = []
signal.signal(signal.SIGALRM, lambda *_: got.append([client.version().version, len(list(client.pools.list()))]))
for use in (list, lambda scan: scan.to_arrow(), pyarrow.table):
    sandbox.set_faults({"match": {"path": "/v1/contacts", "nth": 2}, "reply": {"delay_ms": 700}})
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    print(len(use(client.contacts.list())), got.pop(), got)
"""

HANDLER = """
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


@pytest.mark.parametrize(
    ("code", "prints"),
    [(SIGNAL, "450 ['1.8.2', 3] []\n" * 3), (HANDLER, "1.8.2 [['sandbox-user']]\n")],
    ids=["signal", "logging"],
)
def test_a_handler_uses_the_client_while_a_call_waits(code, prints):
    assert python(SERVICE + code) == prints


def test_two_threads_that_log_do_not_wait_for_each_other():
    code = SERVICE + """
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
threading.Thread(target=load).start()
threads = [threading.Thread(target=work) for _ in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
stop.set()
print(heard)
"""
    assert python(code) == "1000\n"


def messages(caplog) -> list[str]:
    """What the library has logged."""
    return [record.getMessage() for record in caplog.records if record.name == "talentdata"]


def test_a_retry_a_pause_and_a_token(sandbox, caplog):
    sandbox.set_faults(
        {"match": {**VERSION, "nth": 1}, "reply": {"status": 503}},
        {"match": {"path": "/v1/pools"}, "reply": {"headers": {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1"}}},
    )
    before = time.time()
    with caplog.at_level(logging.DEBUG, "talentdata"), sandbox.client() as client:
        client.version()
        client.pools.page()
        client.version()
    said = messages(caplog)
    for words in ("retrying operation=getVersion reason=Server status=503", "received an access token", "pausing for the rate limit"):
        assert any(line.startswith(words) for line in said), said
    (first, *_) = caplog.records
    assert (first.levelno, first.levelname) == (logging.DEBUG, "DEBUG") and before <= first.created <= time.time()
    assert sandbox.client_secret not in caplog.text and "Bearer" not in caplog.text


@pytest.fixture
def handle():
    """Calls back for each message."""
    logger, handler = logging.getLogger("talentdata"), logging.Handler()

    def add(hear):
        handler.emit = lambda record: hear(record.getMessage())
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)

    yield add
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)


def test_the_level_is_that_of_the_moment(client, handle):
    logger, heard = logging.getLogger("talentdata"), []
    handle(heard.append)
    for level, is_heard in ((logging.INFO, False), (logging.DEBUG, True), (logging.INFO, False)):
        logger.setLevel(level)
        before = len(heard)
        client.version()
        assert (len(heard) > before) == is_heard


def test_messages_come_while_a_call_waits(client, sandbox, handle):
    def hear(message):
        if message.startswith("retrying"):
            raise KeyboardInterrupt

    handle(hear)
    sandbox.set_faults(MUCH_LATER)
    with pytest.raises(KeyboardInterrupt):
        client.version()


def test_messages_come_while_an_event_loop_runs(sandbox, handle):
    async def main():
        loop, retried = asyncio.get_running_loop(), asyncio.Event()

        def hear(message):
            # The loop's own thread: an event could not be set from another.
            assert asyncio.get_running_loop() is loop
            if message.startswith("retrying"):
                retried.set()

        handle(hear)
        async with sandbox.async_client() as client:
            task = asyncio.create_task(client.version())
            await retried.wait()
            assert not task.done()
            task.cancel()

    sandbox.set_faults(MUCH_LATER)
    asyncio.run(main())


def test_what_a_call_has_logged_is_there_when_it_returns(sandbox, caplog):
    async def main():
        async with sandbox.async_client() as client:
            for count in range(1, 20):
                await client.version()
                assert sum("getVersion" in line for line in messages(caplog)) == count

    with caplog.at_level(logging.DEBUG, "talentdata"):
        asyncio.run(main())


BUSY = SERVICE + """
class Count(logging.Handler):
    # It writes nothing: the lock of a file may be held by another thread when this process forks.
    count = 0
    def emit(self, record):
        self.count += record.getMessage().startswith("received a response")
handler = Count()
logging.getLogger("talentdata").addHandler(handler)
logging.getLogger("talentdata").setLevel(logging.DEBUG)
def work():
    while True:
        client.version()
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
"""

FORKING = """
for _ in range(30):
    child = os.fork()
    if child == 0:
        before = handler.count
        client.version()
        os._exit(0 if handler.count == before + 1 else 3)
    assert os.waitpid(child, 0)[1] == 0
print("done", flush=True)
os._exit(0)
"""


def test_forked_children_log_on():
    assert python(BUSY + FORKING) == "done\n"


def test_the_interpreter_ends_while_threads_log():
    for _ in range(5):
        assert python(BUSY + "client.version()\n") == ""


def test_nothing_is_printed_unless_it_is_wanted(sandbox):
    sandbox.set_faults({"match": {**VERSION, "nth": 1}, "reply": {"status": 503}})
    assert python("import talentdata; talentdata.Client().version()", sandbox=sandbox) == ""
