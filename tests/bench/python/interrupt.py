"""How long Ctrl-C takes, from the signal to KeyboardInterrupt, in each state the package waits in.

Usage: python interrupt.py ROUNDS. Prints JSON: pairs of a state and the seconds of each round.
"""

import json
import os
import random
import signal
import socket
import sys
import tempfile
import threading
import time
import urllib.request

import talentdata

SLOW = {"delay_ms": 60_000}
#: How long the wait has lasted when the signal comes, in seconds; at random, so that no rhythm is met.
LEAD = (0.2, 0.4)


def main():
    # What a shell runs in the background is deaf to it from the start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rounds = int(sys.argv[1])
    measured = {}
    options = {"records": {"contacts": 1000}, "policy": "unlimited", "faults": True}
    with full() as nobody, tempfile.TemporaryDirectory() as directory, talentdata.Sandbox(**options) as sandbox:
        for state, (rule, prepare, wait) in states(nobody, directory).items():
            measured[state] = []
            for _ in range(rounds):
                set_faults(sandbox, rule)
                # Of a wait that the service asked for, a client reminds itself: each round has one of its own.
                with sandbox.client(connect_timeout=60, max_attempts=20) as client:
                    prepared = prepare(client)
                    measured[state].append(interrupted(lambda: wait(client, prepared)))
    print(json.dumps(list(measured.items())))


def states(nobody, directory):
    """By name: the fault rule of the sandbox, what goes before, and the call that waits."""
    elsewhere = f"http://127.0.0.1:{nobody}"
    nothing = lambda client: None
    version = lambda client, _: client.version()
    spent = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "50"}
    return {
        "connecting": ({}, nothing, lambda _, __: talentdata.Client(base_url=elsewhere, connect_timeout=60).version()),
        "waiting for a response": ({"match": {"path": "/v1/version"}, "reply": SLOW}, nothing, version),
        "waiting for the budget": ({"match": {"path": "/v1/pools"}, "reply": {"headers": spent}}, lambda client: client.pools.page(), version),
        "backing off": ({"match": {"path": "/v1/version"}, "reply": {"status": 503}}, nothing, version),
        "iterating": ({"match": {"path": "/v1/contacts", "from": 5}, "reply": SLOW}, nothing, lambda client, _: list(client.contacts.list())),
        "collecting columns": ({"match": {"path": "/v1/contacts", "from": 5}, "reply": SLOW}, nothing, lambda client, _: client.contacts.list().to_arrow()),
        "writing a file": ({"match": {"path": "/v1/contacts", "from": 5}, "reply": SLOW}, nothing, lambda client, _: client.contacts.export(f"{directory}/contacts.parquet")),
    }


def interrupted(wait):
    """Seconds from the signal to the exception."""
    sent = []

    def send():
        time.sleep(random.uniform(*LEAD))
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        wait()
    except KeyboardInterrupt:
        took = time.monotonic() - sent[0]
        thread.join()
        return took
    raise SystemExit("a call that should wait has ended")


def set_faults(sandbox, rule):
    """Gives the sandbox this rule in place of those before."""
    body = json.dumps({"rules": [rule] if rule else []}).encode()
    request = urllib.request.Request(f"{sandbox.base_url}/__faults", body, {"content-type": "application/json"})
    urllib.request.urlopen(request).close()


class full:
    """A port whose queue of connections is full, so that connecting to it waits."""

    def __enter__(self):
        listener = socket.create_server(("127.0.0.1", 0), backlog=0)
        self.sockets = [listener]
        for _ in range(4):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
            self.sockets.append(one)
        return listener.getsockname()[1]

    def __exit__(self, *_):
        for one in self.sockets:
            one.close()


main()
