"""One token for all processes, at a service that accepts only the newest one."""

import json
import os
import subprocess
import sys

import talentdata


def test_clients_a_forked_child_and_the_command_line_share_a_token(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with talentdata.Sandbox(policy="unlimited", tokens="newest") as service, service.client(token_cache="host") as client:
        for name in ("base_url", "client_id", "client_secret"):
            monkeypatch.setenv(f"TALENTDATA_{name.upper()}", getattr(service, name))
        verb = [sys.executable, "-m", "talentdata", "permissions", "--token-cache", "host"]
        command = subprocess.Popen(verb, stdout=subprocess.PIPE)
        # A client with other options has no token of its own either.
        assert client.with_options(max_attempts=1).permissions().roles == ["sandbox-user"]
        assert json.loads(command.communicate()[0])["roles"] == ["sandbox-user"] and command.returncode == 0
        assert service.stats()["token_posts"] == 1
        # Another client ends the token; a forked child renews it for its parent.
        with service.client() as other:
            other.permissions()
        child = os.fork()
        if child == 0:
            os._exit(client.permissions().roles != ["sandbox-user"])
        assert os.waitpid(child, 0)[1] == 0
        assert service.stats()["token_posts"] == 3
        assert client.permissions().roles == ["sandbox-user"]
        assert service.stats()["token_posts"] == 3
