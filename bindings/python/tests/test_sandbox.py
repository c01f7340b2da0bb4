"""The sandbox and the fixtures for users' own tests."""

import pickle
import urllib.request

import pytest

import talentdata


def test_options():
    with talentdata.Sandbox(records={"contacts": 7}, seed=5, policy="gcra", latency=0.001) as sandbox:
        with sandbox.client() as client:
            page = client.contacts.page()
            assert page.pagination.total == 7
        stats = sandbox.stats()
        assert stats["requests"] == 2 and stats["token_posts"] == 1 and stats["limited"] == 0
        assert stats["requests_by_path"]["/v1/contacts"] == 1
    with talentdata.Sandbox(records={"contacts": 7}, seed=6) as other, other.client() as client:
        assert client.contacts.page() != page


def test_options_for_a_service_that_differs():
    with talentdata.Sandbox(max_limit=5, gzip=True) as sandbox, sandbox.client() as client:
        assert len(client.contacts.page(limit=20)) == 5
        request = urllib.request.Request(f"{sandbox.base_url}/v1/version", headers={"accept-encoding": "gzip"})
        with urllib.request.urlopen(request) as answer:
            assert answer.headers["content-encoding"] == "gzip"
        wrong = sandbox.client(client_secret="wrong-secret")
        with pytest.raises(talentdata.AuthError):
            wrong.permissions()


def test_services_that_sort_badly_lag_or_lie():
    drift = {"every": 2, "times": 1, "deletes": 3, "bulk_deletes": 10}
    options = {
        "records": {"pools": 100},
        "drift": drift,
        "order": "random",
        "ids": "none",
        "replicas": {"count": 2, "lag_percent": 50},
    }
    with talentdata.Sandbox(**options) as sandbox, sandbox.client() as client:
        pages = [client.pools.page(limit=10) for _ in range(4)]
        assert [page.pagination.total for page in pages] == [100, 50, 87, 44]
        assert "id" not in pages[0][0] and [*pages[0]] != [*pages[2]]
    with talentdata.Sandbox(total="zero", ignore_offset=True, warnings=True) as sandbox, sandbox.client() as client:
        first, second = (client.contacts.page(limit=5, offset=offset) for offset in (0, 5))
        assert second.pagination.total == 0 and second.pagination.offset == 5
        assert [*first] == [*second]


def test_a_closed_sandbox_is_gone():
    sandbox = talentdata.Sandbox()
    client = sandbox.client(max_attempts=1)
    sandbox.close()
    sandbox.close()
    with pytest.raises(talentdata.ConnectError):
        client.version()
    with pytest.raises(talentdata.ClosedError):
        sandbox.stats()
    with pytest.raises(TypeError):
        pickle.dumps(sandbox)


def test_changes_are_listed():
    with talentdata.Sandbox(records={"contacts": 100}) as sandbox, sandbox.client() as client:
        sandbox.change("contacts", update=30, delete=20, insert=10)
        changes = sandbox.changes("contacts")
        assert [change["op"] for change in changes] == ["update"] * 30 + ["delete"] * 20 + ["insert"] * 10
        assert {change["key"] for change in changes[50:]} < {contact.id for contact in client.contacts.list()}
        assert sandbox.changes("contacts", skip=50) == changes[50:]
        for wrong in (lambda: sandbox.changes("people"), lambda: sandbox.change("people", update=1)):
            with pytest.raises(talentdata.InvalidArgumentError, match="no list `people`"):
                wrong()
