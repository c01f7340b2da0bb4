"""Threads, forks and shutdown."""

import json
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from support import python, until
from test_services import Valkey

import talentdata


def in_child(work):
    """Runs `work` in a forked child and returns its result, or None if the child fails or does not end in time."""
    fork = multiprocessing.get_context("fork")
    reader, writer = fork.Pipe(duplex=False)
    child = fork.Process(target=lambda: writer.send(work()))
    child.start()
    child.join(60)
    child.kill()
    child.join()
    return reader.recv() if child.exitcode == 0 else None


def test_a_forked_child_has_its_own_connections_and_share_of_the_budget(sandbox):
    with sandbox.client() as client:
        assert client.version().version == "1.8.2"

        def work():
            scan = client.pools.list()
            assert len(list(scan)) == 3 and client.with_options(max_attempts=1).permissions().roles
            return scan.receipt.budget.to_dict()

        child = in_child(work)
        assert (child["store"], child["max_members"], child["unreachable_reason"]) == ("host", 2, None)
        scan = client.contacts.list()
        assert len(list(scan)) == 450
        assert (scan.receipt.budget["store"], scan.receipt.budget["unreachable_reason"]) == ("host", None)


def test_a_fork_while_another_thread_waits(sandbox, client):
    sandbox.set_faults({"match": {"path": "/v1/version", "nth": 1}, "reply": {"delay_ms": 600_000}})
    with ThreadPoolExecutor() as threads:
        # The following code runs only if the waiting thread does not hold the GIL.
        waiting = threads.submit(client.version)
        until(lambda: sandbox.stats()["requests"] == 1)
        assert in_child(lambda: client.version().version) == "1.8.2"
        assert not waiting.done() and client.version().version == "1.8.2"
        client.close()
        assert isinstance(waiting.exception(60), talentdata.ClosedError)


DAEMON = """
import os, sys, warnings, talentdata
# Python 3.12 warns about every fork of a process with threads.
warnings.simplefilter("ignore")
with talentdata.Client() as client:
    client.version()
child = os.fork()
if child == 0:
    # Daemons do this, and it closes every descriptor of the parent's runtime.
    os.closerange(3, 256)
    print(talentdata.Client().version().version, flush=True)
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_daemon_that_closed_every_descriptor_creates_a_client(sandbox):
    assert python(DAEMON, sandbox=sandbox) == "1.8.2\n"


LEAVING = """
import sys, talentdata
client = talentdata.Client(budget=sys.argv[1])
records = iter(client.pools.list())
next(records)
"""


@pytest.mark.parametrize("end", ["", "client.close()", "other = client.with_options(max_attempts=2); other.version()"])
def test_a_process_leaves_the_budget_at_its_end(sandbox, end):
    with Valkey(os.environ["TALENTDATA_VALKEY_SERVER"]) as server:
        assert python(LEAVING + end, server.url, sandbox=sandbox) == ""
        with sandbox.client(budget=server.url) as client:
            scan = client.pools.list()
            assert len(list(scan)) == 3
            assert scan.receipt.budget["max_members"] == 1


def test_a_child_may_close_an_inherited_scan_but_not_read_it(sandbox):
    client = sandbox.client()
    scan, fresh = client.contacts.list(page_size=50), client.pools.list()
    records = iter(scan)
    first = next(records).id
    holder = [client, scan, records]

    def work():
        with pytest.raises(talentdata.ClosedError):
            list(scan)
        count = len(list(fresh))
        scan.close()
        holder[0].close()
        holder.clear()
        sandbox.close()
        return count

    assert in_child(work) == 3
    ids = [first, *(contact.id for contact in records)]
    assert len(set(ids)) == 450
    client.close()


def test_clients_a_forked_child_and_the_command_line_share_a_token(environment, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with (
        talentdata.Sandbox(policy="unlimited", tokens="newest") as service,
        service.client(token_cache="host") as client,
    ):
        environment(service)
        verb = [sys.executable, "-m", "talentdata", "permissions", "--token-cache", "host"]
        command = subprocess.Popen(verb, stdout=subprocess.PIPE)
        # A client with other options shares the token, too.
        assert client.with_options(max_attempts=1).permissions().roles == ["sandbox-user"]
        assert json.loads(command.communicate()[0])["roles"] == ["sandbox-user"] and command.returncode == 0
        assert service.stats()["token_posts"] == 1
        # A client that does not share the token invalidates it. A forked child then renews it for its parent.
        with service.client() as other:
            other.permissions()
        assert in_child(lambda: client.permissions().roles) == ["sandbox-user"]
        assert service.stats()["token_posts"] == 3
        assert client.permissions().roles == ["sandbox-user"]
        assert service.stats()["token_posts"] == 3
