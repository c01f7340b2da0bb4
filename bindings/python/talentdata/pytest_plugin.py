"""Fixtures for the tests of those who use the package; pytest finds them by itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import talentdata


@pytest.fixture(scope="session")
def talentdata_sandbox() -> Iterator[talentdata.Sandbox]:
    """The service in this process, without a limit of requests, for the whole session."""
    with talentdata.Sandbox(policy="unlimited") as sandbox:
        yield sandbox


@pytest.fixture
def talentdata_client(talentdata_sandbox: talentdata.Sandbox) -> Iterator[talentdata.Client]:
    """A client of `talentdata_sandbox`, closed after the test."""
    with talentdata_sandbox.client() as client:
        yield client
