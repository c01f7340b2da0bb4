"""The fixtures of the package, in test suites as users write them."""

import re
import textwrap
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]


@pytest.fixture
def suite(pytester: pytest.Pytester):
    """Runs a test file in a suite of its own; all of its tests have to pass."""

    def run(count, text, conftest=""):
        pytester.makepyfile(textwrap.dedent(text))
        pytester.makeconftest(textwrap.dedent(conftest))
        pytester.runpytest("-p", "no:cacheprovider", "-W", "error").assert_outcomes(passed=count)

    return run


def test_the_example_of_the_readme(suite):
    readme = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    chapter = readme.split("## Tests\n", 1)[1]
    suite(2, re.search(r"```python\n(.*?)```", chapter, flags=re.DOTALL)[1])


def test_sizes_are_overridden(suite):
    suite(
        1,
        """
        def test_sizes(talentdata_client):
            assert talentdata_client.contacts.plan().records == 7
        """,
        conftest="""
        import pytest

        @pytest.fixture
        def talentdata_sandbox_options():
            return {"records": {"contacts": 7}}
        """,
    )


def test_clients_are_not_paced_and_are_closed_and_faults_go_with_the_test(suite):
    suite(
        3,
        """
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
            # 500 pages at the pace of 40 a second would wait for more than ten.
            assert len(list(scan)) == 2500 and scan.receipt.seconds_waited_for_budget < 1
            talentdata_sandbox.set_faults(FAULT)
            with pytest.raises(talentdata.ForbiddenError):
                talentdata_client.version()

        def test_none(talentdata_client):
            assert talentdata_client.version().version and clients[0].closed

        def test_async_fault(talentdata_async_client, talentdata_sandbox):
            talentdata_sandbox.set_faults(FAULT)
            with pytest.raises(talentdata.ForbiddenError):
                asyncio.run(talentdata_async_client.version())
        """,
    )
