"""What the tests need beside fixtures."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import talentdata


def seen(sandbox: talentdata.Sandbox) -> list[dict[str, object]]:
    """The requests that the sandbox has seen."""
    with urllib.request.urlopen(f"{sandbox.base_url}/__requests") as answer:
        return json.load(answer)["requests"]


def until(condition) -> None:
    """Waits until the condition holds; the minute is only a guard against hanging."""
    guard = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < guard, "it never came"
        time.sleep(0.005)


def asked(sandbox: talentdata.Sandbox, path: str, times: int = 1) -> None:
    """Waits until the sandbox has seen a path so many times."""
    until(lambda: sandbox.stats()["requests_by_path"].get(path, 0) >= times)


class Held:
    """A service in a thread of this process; it answers the first request only when it is told to."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self.asked = threading.Event()
        self.answer = threading.Event()


@contextmanager
def held() -> Iterator[Held]:
    """The service above, for `client.version()`."""
    body = b'{"version": "1.8.2", "apiStatus": "operational", "endpoints": {}}'

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            if not service.asked.is_set():
                service.asked.set()
                service.answer.wait(60)
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        service = Held(f"http://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield service
        finally:
            service.answer.set()
            server.shutdown()


def takes_connections(port: int) -> bool:
    """Whether somebody listens at a port of this machine."""
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def server() -> Iterator[str]:
    """The URL of a Valkey server; `cargo xtask test python` says where its program is."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = os.environ["TALENTDATA_VALKEY_SERVER"]
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as running:
        try:
            until(lambda: takes_connections(port))
            yield f"redis://127.0.0.1:{port}"
        finally:
            running.kill()


def wire(sandbox: talentdata.Sandbox, path: str) -> str:
    """A response as it comes over the wire, fetched without this package's client."""
    body = json.dumps({"clientId": sandbox.client_id, "clientSecret": sandbox.client_secret}).encode()
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"{sandbox.base_url}/v1/oauth/token", body, headers)
    with urllib.request.urlopen(request) as answer:
        token = json.load(answer)["access_token"]
    headers = {"authorization": f"Bearer {token}"}
    request = urllib.request.Request(sandbox.base_url + path, headers=headers)
    with urllib.request.urlopen(request) as answer:
        return answer.read().decode()


def python(code: str, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Runs code in an interpreter of its own."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **options)
