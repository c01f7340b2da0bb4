"""The sandbox: it applies its options, and reports its requests and changes."""

import gc
import urllib.request

import pytest

import talentdata


def test_a_sandbox_without_references_serves_its_client():
    client = talentdata.Sandbox(records={"pools": 120}, policy="unlimited").client(paced=False)
    gc.collect()
    assert len(client.pools.list().to_arrow()) == 120
    client.close()


def test_options():
    options = {"policy": "gcra", "latency": 0.001, "gzip": True, "max_limit": 5, "order": "random", "ids": "none"}
    drift = {"every": 2, "times": 1, "deletes": 3, "bulk_deletes": 10}
    replicas = {"count": 2, "lag_percent": 50}
    with talentdata.Sandbox(records={"pools": 100}, seed=5, drift=drift, replicas=replicas, **options) as sandbox:
        with sandbox.client() as client:
            pages = [client.pools.page(limit=10) for _ in range(4)]
        assert [page.pagination.total for page in pages] == [100, 50, 87, 44] and len(pages[0]) == 5
        assert "id" not in pages[0][0] and [*pages[0]] != [*pages[2]]
        stats = sandbox.stats()
        assert (stats["requests"], stats["token_posts"], stats["limited"]) == (5, 1, 0)
        assert stats["requests_by_path"]["/v1/pools"] == 4
        request = urllib.request.Request(f"{sandbox.base_url}/v1/version", headers={"accept-encoding": "gzip"})
        with urllib.request.urlopen(request) as answer:
            assert answer.headers["content-encoding"] == "gzip"
        with pytest.raises(talentdata.AuthError):
            sandbox.client(client_secret="wrong-secret").permissions()
    with talentdata.Sandbox(total="zero", ignore_offset=True) as sandbox, sandbox.client() as client:
        first, second = (client.contacts.page(limit=5, offset=offset) for offset in (0, 5))
        assert (second.pagination.total, second.pagination.offset) == (0, 5) and [*first] == [*second]
    with talentdata.Sandbox(records={"contacts": 250}, pages="told") as sandbox, sandbox.client() as client:
        contacts = client.contacts.list()
        assert len([*contacts]) == 250 and contacts.receipt.basis == "counted"
    with talentdata.Sandbox(seed=6) as other, other.client() as client:
        assert [*client.contacts.page(limit=5)] != [*first]


def test_a_closed_sandbox_is_gone():
    sandbox = talentdata.Sandbox(faults=True)
    client = sandbox.client(max_attempts=1)
    for _ in range(2):
        sandbox.close()
    with pytest.raises(talentdata.ConnectError):
        client.version()
    for use in (sandbox.stats, sandbox.set_faults):
        with pytest.raises(talentdata.ClosedError):
            use()


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
