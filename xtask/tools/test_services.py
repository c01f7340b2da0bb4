"""The services of tests and benchmarks: the sandbox, and servers for budgets."""

import json
import os
import socket
import subprocess
import time
import urllib.request

from commands import ROOT, Failure, environment, target


def servers():
    """Returns `TALENTDATA_VALKEY_SERVER` and `TALENTDATA_REDIS_SERVER` for tests: server programs from PyPI wheels."""
    packages = environment(target() / "servers", ROOT / "crates/core/tests/requirements.txt").parent / "lib"
    files = [path for path in packages.rglob("*-server") if path.is_file()]
    return {f"TALENTDATA_{path.name.replace('-', '_').upper()}": str(path) for path in files}


class Process(subprocess.Popen):
    """A child process that ends when its context does."""

    def __exit__(self, *caught):
        self.kill()
        super().__exit__(*caught)


class Sandbox(Process):
    """The sandbox as a child process. `variables` gives clients its address and credentials, and avoids any proxy."""

    def __init__(self, program, *arguments, variables=os.environ):
        command = [program, "sandbox", "--until-stdin-closes", *arguments]
        super().__init__([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        line = self.stdout.readline()
        if not line:
            raise Failure(f"the sandbox with {arguments} did not start")
        ready = json.loads(line)
        self.base_url = ready["base_url"]
        keys = {f"TALENTDATA_{key.upper()}": ready[key] for key in ("base_url", "client_id", "client_secret")}
        self.variables = {**variables, **keys, "NO_PROXY": "127.0.0.1"}

    def ask(self, path, body=None):
        """Requests a path and returns the JSON. A body is sent with POST."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        request = urllib.request.Request(self.base_url + path, body and json.dumps(body).encode())
        request.add_header("content-type", "application/json")
        with opener.open(request, timeout=60) as answer:
            return json.load(answer)


class Valkey(Process):
    """A server on a free local port, with which hosts share a budget."""

    def __init__(self, program):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        options = ["--bind", "127.0.0.1", "--save", "", "--protected-mode", "no", "--port", str(port)]
        super().__init__([str(program), *options], stdout=subprocess.DEVNULL)
        self.url = f"redis://127.0.0.1:{port}"
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.05)
        raise Failure(f"{program} accepts no connections")
