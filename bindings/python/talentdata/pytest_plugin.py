"""Fixtures for the tests of those who use the package; pytest finds them by itself.

Nothing is paced, so that tests are fast, and each test has a sandbox of its own, so that no test meets the faults of
another. A test, a class, a module or a `conftest.py` overrides `talentdata_sandbox_options` for other data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import talentdata


@pytest.fixture
def talentdata_sandbox_options() -> dict[str, Any]:
    """Arguments of the `talentdata.Sandbox` of the test; override it to choose sizes of lists and how it behaves."""
    return {}


@pytest.fixture
def talentdata_sandbox(talentdata_sandbox_options: dict[str, Any]) -> Iterator[talentdata.Sandbox]:
    """The service in this process, without a rate limit; `set_faults` makes requests fail."""
    with talentdata.Sandbox(**{"policy": "unlimited", "faults": True, **talentdata_sandbox_options}) as sandbox:
        yield sandbox


@pytest.fixture
def talentdata_client(talentdata_sandbox: talentdata.Sandbox) -> Iterator[talentdata.Client]:
    """A client of `talentdata_sandbox`, closed after the test."""
    with talentdata_sandbox.client(paced=False) as client:
        yield client


@pytest.fixture
def talentdata_async_client(talentdata_sandbox: talentdata.Sandbox) -> Iterator[talentdata.AsyncClient]:
    """An async client of `talentdata_sandbox`, closed after the test; for any event loop, with any plugin or none."""
    client = talentdata_sandbox.async_client(paced=False)
    yield client
    # Closing waits for nothing, so that no event loop is needed here.
    client._close()
