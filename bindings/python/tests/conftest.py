"""What the tests share: a sandbox, clients of it, and a way to set its fault rules."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator

import pytest

import talentdata

# What a shell runs in the background is deaf to Ctrl-C from the start, and so would be the children that are to hear it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def sandbox() -> Iterator[talentdata.Sandbox]:
    """A sandbox that takes fault rules."""
    sizes = {"contacts": 450, "pools": 3, "ja_tasks": 230}
    with talentdata.Sandbox(records=sizes, policy="unlimited", faults=True) as sandbox:
        yield sandbox


@pytest.fixture
def client(sandbox: talentdata.Sandbox) -> Iterator[talentdata.Client]:
    """A client of the sandbox."""
    with sandbox.client() as client:
        yield client


@pytest.fixture
def faults(sandbox: talentdata.Sandbox) -> Callable[..., None]:
    """Sets fault rules: dicts of `match` and `reply`."""
    return sandbox.set_faults
