"""Fixtures that the tests share: a sandbox that accepts fault rules, and its clients."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator

import pytest
from support import variables

import talentdata

# A shell starts background commands with Ctrl-C ignored, and their children inherit that. The children of these tests
# must receive Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: The slowest test modules. They start first, so that they do not run alone at the end.
LONGEST = ("test_types", "test_documents", "test_spark", "test_memory", "test_interrupt")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs a test that is a coroutine in its own event loop."""
    if not asyncio.iscoroutinefunction(pyfuncitem.obj):
        return None
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}))
    return True


@pytest.fixture
def sandbox() -> Iterator[talentdata.Sandbox]:
    """A sandbox that accepts fault rules."""
    sizes = {"contacts": 450, "pools": 3, "ja_tasks": 230}
    with talentdata.Sandbox(records=sizes, policy="unlimited", faults=True) as sandbox:
        yield sandbox


@pytest.fixture
def client(sandbox: talentdata.Sandbox) -> Iterator[talentdata.Client]:
    """A client of the sandbox that sends requests without pacing."""
    with sandbox.client(paced=False) as client:
        yield client


@pytest.fixture
def async_client(sandbox: talentdata.Sandbox) -> Iterator[talentdata.AsyncClient]:
    """An async client of the sandbox that sends requests without pacing."""
    client = sandbox.async_client(paced=False)
    yield client
    client._close()


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Callable[[talentdata.Sandbox], None]:
    """Sets the credentials of a sandbox for clients of this process and of its children."""

    def give(sandbox: talentdata.Sandbox) -> None:
        for name, value in variables(sandbox).items():
            monkeypatch.setenv(name, value)

    return give
