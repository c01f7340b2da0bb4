"""What the tests share: a sandbox that takes fault rules, and clients of it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator

import pytest
from support import variables

import talentdata

# What a shell runs in the background is deaf to Ctrl-C from the start, and so would be the children that are to hear it.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: What takes longest begins first, so that nobody waits for it at the end.
LONGEST = ("test_types", "test_documents", "test_spark", "test_memory", "test_interrupt")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that is a coroutine runs in an event loop of its own."""
    if not asyncio.iscoroutinefunction(pyfuncitem.obj):
        return None
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}))
    return True


@pytest.fixture
def sandbox() -> Iterator[talentdata.Sandbox]:
    """A sandbox that takes fault rules."""
    sizes = {"contacts": 450, "pools": 3, "ja_tasks": 230}
    with talentdata.Sandbox(records=sizes, policy="unlimited", faults=True) as sandbox:
        yield sandbox


@pytest.fixture
def client(sandbox: talentdata.Sandbox) -> Iterator[talentdata.Client]:
    """A client of the sandbox, which sends at once."""
    with sandbox.client(paced=False) as client:
        yield client


@pytest.fixture
def async_client(sandbox: talentdata.Sandbox) -> Iterator[talentdata.AsyncClient]:
    """An async client of the sandbox, which sends at once."""
    client = sandbox.async_client(paced=False)
    yield client
    client._close()


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Callable[[talentdata.Sandbox], None]:
    """Gives clients of this process, and of its children, the credentials of a sandbox."""

    def give(sandbox: talentdata.Sandbox) -> None:
        for name, value in variables(sandbox).items():
            monkeypatch.setenv(name, value)

    return give
