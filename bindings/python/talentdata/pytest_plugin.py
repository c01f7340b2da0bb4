"""Fixtures of pytest for the tests of applications. pytest loads this plugin automatically.

Requests are not paced, so that tests are fast. Each test has its own sandbox, so that the faults of one test do not
affect another. A test, a class, a module or a `conftest.py` overrides `talentdata_sandbox_options` for other data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import talentdata


@pytest.fixture
def talentdata_sandbox_options() -> dict[str, Any]:
    """Arguments of the `talentdata.Sandbox` of the test. Override it to choose list sizes and other options."""
    return {}


@pytest.fixture
def talentdata_sandbox(talentdata_sandbox_options: dict[str, Any]) -> Iterator[talentdata.Sandbox]:
    """A service in this process, without a rate limit; `set_faults` makes requests fail."""
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
    # `_close` does not wait, so this needs no event loop.
    client._close()
