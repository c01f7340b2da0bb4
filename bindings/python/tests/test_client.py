"""The methods of the client, its settings, its lifetime and its secrets."""

import asyncio
import json
import logging
import pickle
import traceback
from concurrent.futures import ThreadPoolExecutor

import pytest
from support import CANARY, python, until

import talentdata


def test_settings_come_from_the_environment_and_from_a_profile(sandbox, environment, tmp_path, monkeypatch):
    environment(sandbox)
    assert talentdata.Client().permissions().roles
    assert talentdata.Client(client_id="mine").client_id == "mine"
    profiles = tmp_path / "talentdata" / "profiles.toml"
    profiles.parent.mkdir()
    profiles.write_text('[other]\nclient_id = "hers"\n')
    profiles.chmod(0o600)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("TALENTDATA_CLIENT_ID")
    assert talentdata.Client(profile="other").client_id == "hers"
    with pytest.raises(talentdata.ConfigError, match="nosuch"):
        talentdata.Client(profile="nosuch")


def test_with_options_changes_only_the_named_options(client, sandbox):
    sandbox.set_faults({"match": {"path": "/v1/version"}, "reply": {"status": 503}})
    for attempts in (1, 2):
        other = client.with_options(max_attempts=attempts)
        assert (other.base_url, other.client_id) == (client.base_url, client.client_id)
        with pytest.raises(talentdata.ServerError) as caught:
            other.version()
        assert caught.value.attempts == attempts


async def test_close_ends_the_calls_of_other_threads_and_tasks(sandbox, client):
    sandbox.set_faults({"match": {"path": "/v1/version"}, "reply": {"delay_ms": 600_000}})
    async with sandbox.async_client() as other:
        call = asyncio.create_task(other.version())
        await asyncio.to_thread(until, lambda: sandbox.stats()["requests"] == 1)
    with pytest.raises(talentdata.ClosedError, match="closed"):
        await call
    with ThreadPoolExecutor() as threads:
        call = threads.submit(client.version)
        until(lambda: sandbox.stats()["requests"] == 2)
        client.close()
        with pytest.raises(talentdata.ClosedError, match="closed"):
            call.result(60)


def test_scans_continue_after_close(sandbox):
    with sandbox.client() as client:
        scan, fresh = client.contacts.list(page_size=50), client.contacts.list()
        records = iter(scan)
        next(records)
    assert client.closed and "closed" in repr(client)
    for use in (client.version, client.contacts.list, lambda: client.contacts.page(), client.with_options):
        with pytest.raises(talentdata.ClosedError, match="closed"):
            use()
    client.close()
    assert len(list(records)) == 449 and scan.receipt.completeness == "proven"
    assert fresh.to_arrow().num_rows == 450


async def test_a_defect_in_rust_is_an_exception_and_the_client_stays_usable(client, async_client):
    with pytest.raises(talentdata.InternalError, match="on purpose"):
        client._defect()
    with pytest.raises(talentdata.InternalError, match="on purpose"):
        await async_client._defect()
    assert client.version().version == (await async_client.version()).version == "1.8.2"


def test_a_refused_secret_is_in_no_frame_of_the_traceback():
    code = (
        "import talentdata, sys, traceback\n"
        f"try: talentdata.Client(base_url='http://127.0.0.1:1', client_secret=' ' + '{CANARY[::-1]}'[::-1])\n"
        "except talentdata.ConfigError: print(*traceback.TracebackException(*sys.exc_info(), capture_locals=True).format())\n"
    )
    assert "client_secret" in (said := python(code)) and CANARY not in said


def test_secrets_are_in_no_log_no_display_and_no_traceback(sandbox, client, caplog):
    formatters = pytest.importorskip("IPython.core.formatters")
    logging.getLogger("user").error("%r %s", client, client)
    shown = [caplog.text, *(str(getattr(client, name)) for name in dir(client))]
    for thing in (
        client,
        sandbox,
        client.contacts,
        client.contacts.list(),
        client.contacts.page(limit=2),
        client.contacts.plan(),
    ):
        shown += [repr(thing), str(thing), *map(str, formatters.DisplayFormatter().format(thing)[0].values())]
    sandbox.set_faults(
        {
            "match": {"path": "/v1/oauth/token/permissions"},
            "reply": {"status": 403, "body": {"secret": sandbox.client_secret}},
        }
    )
    with pytest.raises(talentdata.ForbiddenError) as caught:
        client.permissions()
    # The traceback shows the local variables of every frame.
    shown += traceback.TracebackException.from_exception(caught.value, capture_locals=True).format()
    shown += [repr(caught.value), str(vars(caught.value)), str(pickle.dumps(caught.value))]
    assert len(shown) > 20 and not any(sandbox.client_secret in text for text in shown)
    for use in (json.dumps, vars):
        with pytest.raises(TypeError):
            use(client)


def test_every_list_can_be_read(client, sandbox):
    lists = [name for name, one in vars(talentdata._operations.Operations).items() if isinstance(one, property)]
    for name in lists:
        assert getattr(client, name).page(limit=1)[0].to_dict(), name
    paths = sandbox.stats()["requests_by_path"]
    assert paths.pop("/v1/oauth/token") == 1
    assert {"/v1/ja/departments", "/v1/taxonomy/roles"} < set(paths) and [*paths.values()] == [1] * 9


def test_the_secret_may_be_a_function_and_its_failure_is_reported(sandbox):
    settings = {"base_url": sandbox.base_url, "client_id": sandbox.client_id, "environment": False}
    asked = []

    def secret():
        asked.append(1)
        return sandbox.client_secret

    with talentdata.Client(client_secret=secret, **settings) as client:
        assert client.permissions().roles
    assert len(asked) == 1
    for function, says in ((lambda: 1 / 0, "ZeroDivisionError"), (lambda: b"x", "it must return a str, not bytes")):
        with pytest.raises(talentdata.ConfigError, match=f"client_secret: its function failed: .*{says}"):
            talentdata.Client(client_secret=function, **settings)


def test_a_command_and_paths_are_settings(sandbox, tmp_path):
    settings = {"base_url": sandbox.base_url, "client_id": sandbox.client_id, "environment": False}
    command = ["echo", sandbox.client_secret]
    assert talentdata.Client(credential_command=command, **settings).permissions().roles
    with pytest.raises(talentdata.ConfigError, match="ca_file: cannot read .*no.pem"):
        talentdata.Client(ca_file=tmp_path / "no.pem", client_secret=CANARY, **settings)


def test_doctor_finds_what_works_and_what_does_not(client):
    found = client.doctor()
    assert found["healthy"] is True, found.json
    assert {check["status"] for check in found["checks"]} <= {"ok", "not_tried"}
    found = talentdata.doctor(environment=False, client_secret=CANARY)
    first = found["checks"][0]
    assert (found["healthy"], first["name"], first["kind"]) == (False, "settings", "Config")
    assert CANARY not in found.json
    with pytest.raises(TypeError, match="no option tiemout"):
        talentdata.doctor(tiemout=1)
