"""The fixtures of the package, in test suites that users might write."""

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

#: A suite whose tests run in this order. The fault of the first test does not affect the second.
SUITE = """
import asyncio

import pytest
import talentdata

FAULT = {"match": {"path": "/v1/version"}, "reply": {"status": 403}}
clients = []

def test_fault(talentdata_client, talentdata_sandbox):
    clients.append(talentdata_client)
    assert talentdata_client.base_url == talentdata_sandbox.base_url
    assert len(list(talentdata_client.contacts.list())) > 0
    scan = talentdata_client.contacts.list(page_size=5)
    # With pacing, 500 pages at 40 a second would wait for more than ten seconds.
    assert len(list(scan)) == 2500 and scan.receipt.seconds_waited_for_budget < 12
    talentdata_sandbox.set_faults(FAULT)
    with pytest.raises(talentdata.ForbiddenError):
        talentdata_client.version()

def test_none(talentdata_client):
    assert talentdata_client.version().version and clients[0].closed

def test_async_fault(talentdata_async_client, talentdata_sandbox):
    talentdata_sandbox.set_faults(FAULT)
    with pytest.raises(talentdata.ForbiddenError):
        asyncio.run(talentdata_async_client.version())
"""


def example() -> str:
    """Returns the example of the README, which also overrides the size of a list."""
    readme = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    return re.search(r"```python\n(.*?)```", readme.split("## Tests\n", 1)[1], flags=re.DOTALL)[1]


@pytest.mark.parametrize(("text", "count"), [(example(), 2), (SUITE, 3)], ids=["readme", "suite"])
def test_a_suite(pytester: pytest.Pytester, text, count):
    pytester.makepyfile(text)
    pytester.runpytest("-p", "no:cacheprovider", "-W", "error").assert_outcomes(passed=count)
