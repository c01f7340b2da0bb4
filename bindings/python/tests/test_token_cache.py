"""One token for all processes, at a service that accepts only the newest one."""

import json
import os
import subprocess
import sys

import pytest
from support import python

import talentdata

CALL = """
import talentdata
with talentdata.Client(token_cache="host") as client:
    print(len(list(client.contacts.list(page_size=20))), *client.permissions().roles)
"""


@pytest.fixture
def service(monkeypatch, tmp_path):
    """A sandbox whose clients have a runtime directory of their own."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with talentdata.Sandbox(records={"contacts": 400}, policy="unlimited", faults=True, tokens="newest") as sandbox:
        monkeypatch.setenv("TALENTDATA_BASE_URL", sandbox.base_url)
        monkeypatch.setenv("TALENTDATA_CLIENT_ID", sandbox.client_id)
        monkeypatch.setenv("TALENTDATA_CLIENT_SECRET", sandbox.client_secret)
        yield sandbox


def test_clients_processes_and_the_command_line_share_a_token(service):
    verb = [sys.executable, "-m", "talentdata", "permissions", "--token-cache", "host"]
    command = subprocess.Popen(verb, stdout=subprocess.PIPE)
    script = subprocess.Popen([sys.executable, "-c", CALL], stdout=subprocess.PIPE)
    with service.client(token_cache="host") as client:
        assert len(list(client.contacts.list())) == 400
        # A client with other options has no token of its own either.
        assert client.with_options(max_attempts=1).permissions().roles == ["sandbox-user"]
        assert json.loads(command.communicate()[0])["roles"] == ["sandbox-user"] and command.returncode == 0
        assert script.communicate()[0] == b"400 sandbox-user\n" and script.returncode == 0
    assert python(CALL).stdout == "400 sandbox-user\n"
    assert service.stats()["token_posts"] == 1


def test_a_forked_child_renews_for_its_parent(service):
    with service.client(token_cache="host") as client:
        client.permissions()
        # Somebody else ends the token.
        with service.client() as other:
            other.permissions()
        child = os.fork()
        if child == 0:
            os._exit(client.permissions().roles != ["sandbox-user"])
        assert os.waitpid(child, 0)[1] == 0
        assert service.stats()["token_posts"] == 3
        assert client.permissions().roles == ["sandbox-user"]
    assert service.stats()["token_posts"] == 3


def test_a_fresh_token_that_is_refused_is_explained(service):
    service.set_faults({"match": {"path": "/v1/oauth/token/permissions"}, "reply": {"status": 401}})
    with service.client() as client, pytest.raises(talentdata.AuthError, match="set token_cache to host"):
        client.permissions()
    with service.client(token_cache="host") as client, pytest.raises(talentdata.AuthError, match="another host"):
        client.permissions()


def test_other_values_are_refused():
    with pytest.raises(talentdata.ConfigError, match='token_cache must be process or host .got "redis".'):
        talentdata.Client(base_url="http://127.0.0.1:1", token_cache="redis")
