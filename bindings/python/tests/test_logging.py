"""What clients log, as records of Python's logging: delivered while a call waits, in threads, event loops and forks."""

import asyncio
import logging
import time

import pytest
from support import python

VERSION = {"path": "/v1/version"}

#: Nobody waits for the second attempt.
MUCH_LATER = {"match": VERSION, "reply": {"status": 503, "headers": {"retry-after": "50"}}}


def messages(caplog) -> list[str]:
    """What the library has logged."""
    return [record.getMessage() for record in caplog.records if record.name == "talentdata"]


def test_a_retry_a_pause_and_a_token(client, sandbox, caplog):
    sandbox.set_faults(
        {"match": {**VERSION, "nth": 1}, "reply": {"status": 503}},
        {"match": {"path": "/v1/pools"}, "reply": {"headers": {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1"}}},
    )
    before = time.time()
    with caplog.at_level(logging.DEBUG, "talentdata"):
        client.version()
        client.pools.page()
        client.version()
    said = messages(caplog)
    for words in ("retrying operation=getVersion reason=Server status=503", "received an access token", "pausing for the rate limit"):
        assert any(line.startswith(words) for line in said), said
    (first, *_) = caplog.records
    assert (first.levelno, first.levelname) == (logging.DEBUG, "DEBUG") and before <= first.created <= time.time()
    assert sandbox.client_secret not in caplog.text and "Bearer" not in caplog.text


class Handler(logging.Handler):
    """Calls back for each message."""

    def __init__(self, hear) -> None:
        super().__init__()
        self.hear = hear

    def emit(self, record: logging.LogRecord) -> None:
        self.hear(record.getMessage())


@pytest.fixture
def handle():
    """Adds a handler to the logger, which wants everything."""
    logger, added = logging.getLogger("talentdata"), []

    def add(hear):
        added.append(Handler(hear))
        logger.addHandler(added[-1])
        logger.setLevel(logging.DEBUG)

    yield add
    for handler in added:
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


BUSY = """
import logging, os, sys, threading, talentdata
class Count(logging.Handler):
    # It writes nothing: the lock of a file may be held by another thread when this process forks.
    count = 0
    def emit(self, record):
        self.count += record.getMessage().startswith("received a response")
handler = Count()
logging.getLogger("talentdata").addHandler(handler)
logging.getLogger("talentdata").setLevel(logging.DEBUG)
sandbox = talentdata.Sandbox(policy="unlimited")
client = sandbox.client(paced=False)
def work():
    while True:
        client.version()
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
"""


def test_forked_children_log_on():
    result = python(
        BUSY
        + """
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
    )
    assert (result.stdout, result.returncode) == ("done\n", 0), result.stderr


def test_the_interpreter_ends_while_threads_log():
    for _ in range(5):
        result = python(BUSY + "client.version()\n")
        assert result.returncode == 0, result.stderr


def test_nothing_is_printed_unless_it_is_wanted(sandbox):
    code = """
import sys, talentdata
talentdata.Client(base_url=sys.argv[1], client_id=sys.argv[2], client_secret=sys.argv[3]).version()
"""
    sandbox.set_faults({"match": {**VERSION, "nth": 1}, "reply": {"status": 503}})
    result = python(code, sandbox.base_url, sandbox.client_id, sandbox.client_secret)
    assert (result.stdout, result.stderr, result.returncode) == ("", "", 0)
