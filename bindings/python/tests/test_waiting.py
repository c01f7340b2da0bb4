"""Log messages as records of Python's logging, even while a call waits."""

import asyncio
import logging
import time

import pytest

import talentdata

VERSION = {"path": "/v1/version"}

#: A fault rule whose retry would come so late that no test waits for it.
MUCH_LATER = {"match": VERSION, "reply": {"status": 503, "headers": {"retry-after": "50"}}}


def messages(caplog) -> list[str]:
    """Returns the messages that the library logged."""
    return [record.getMessage() for record in caplog.records if record.name == "talentdata"]


def test_a_retry_a_pause_and_a_token(sandbox, caplog):
    sandbox.set_faults(
        {"match": {**VERSION, "nth": 1}, "reply": {"status": 503}},
        {
            "match": {"path": "/v1/pools"},
            "reply": {"headers": {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1"}},
        },
    )
    before = time.time()
    with caplog.at_level(logging.DEBUG, "talentdata"), sandbox.client() as client:
        client.version()
        client.pools.page()
        client.version()
    said = messages(caplog)
    for words in (
        "retrying operation=getVersion reason=Server status=503",
        "received an access token",
        "pausing for the rate limit",
    ):
        assert any(line.startswith(words) for line in said), said
    first = next(record for record in caplog.records if record.getMessage().startswith("received a response"))
    assert (first.levelno, first.levelname) == (logging.DEBUG, "DEBUG") and before <= first.created <= time.time()
    assert sandbox.client_secret not in caplog.text and "Bearer" not in caplog.text


def test_a_record_has_the_facts_as_attributes(sandbox, caplog):
    sandbox.set_faults({"match": {**VERSION, "nth": 1}, "reply": {"status": 503}})
    with caplog.at_level(logging.WARNING, "talentdata"), sandbox.client() as client:
        client.version()
        with pytest.raises(talentdata.InvalidArgumentError):
            client.pools.page(limit=0)
        sandbox.set_faults({"match": {"path": "/v1/pools"}, "reply": {"status": 403}})
        with pytest.raises(talentdata.ForbiddenError):
            list(client.pools.list())
    recovered, failed = caplog.records
    facts = (
        recovered.client,
        recovered.operation,
        recovered.reason,
        recovered.status,
        recovered.attempt,
        recovered.times,
    )
    assert recovered.levelname == "WARNING" and facts == (sandbox.client_id, "getVersion", "Server", 503, 2, 1)
    assert failed.levelname == "ERROR" and (failed.list, failed.offset, failed.status) == ("pools", 0, 403)


@pytest.fixture
def handle():
    """Yields a function that adds a handler, which calls the given function for each message."""
    logger, handler = logging.getLogger("talentdata"), logging.Handler()

    def add(hear):
        handler.emit = lambda record: hear(record.getMessage())
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)

    yield add
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)


def test_the_current_level_applies(client, caplog):
    for level, is_heard in ((logging.WARNING, False), (logging.DEBUG, True), (logging.WARNING, False)):
        with caplog.at_level(level, "talentdata"):
            before = len(messages(caplog))
            client.version()
            assert (len(messages(caplog)) > before) == is_heard


def test_messages_come_while_a_call_waits(client, sandbox, handle):
    def hear(message):
        if message.startswith("retrying"):
            raise KeyboardInterrupt

    handle(hear)
    sandbox.set_faults(MUCH_LATER)
    with pytest.raises(KeyboardInterrupt):
        client.version()


async def test_messages_come_while_an_event_loop_runs(sandbox, async_client, handle):
    loop, retried = asyncio.get_running_loop(), asyncio.Event()

    def hear(message):
        # This is the thread of the loop. An event could not be set from another thread.
        assert asyncio.get_running_loop() is loop
        if message.startswith("retrying"):
            retried.set()

    handle(hear)
    sandbox.set_faults(MUCH_LATER)
    task = asyncio.create_task(async_client.version())
    await retried.wait()
    assert not task.done()
    task.cancel()


async def test_the_messages_of_a_call_are_delivered_when_it_returns(async_client, caplog):
    with caplog.at_level(logging.DEBUG, "talentdata"):
        for count in range(1, 20):
            await async_client.version()
            assert sum("getVersion" in line for line in messages(caplog)) == count
