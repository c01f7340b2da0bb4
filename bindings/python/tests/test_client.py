"""The verbs of the client, its settings and its life."""

import asyncio
import json
import logging
import pickle
import traceback
from concurrent.futures import ThreadPoolExecutor

import pytest
from support import held, python, seen

import talentdata


def test_settings_come_from_the_environment_and_from_a_profile(sandbox, tmp_path, monkeypatch):
    monkeypatch.setenv("TALENTDATA_BASE_URL", sandbox.base_url)
    monkeypatch.setenv("TALENTDATA_CLIENT_ID", sandbox.client_id)
    monkeypatch.setenv("TALENTDATA_CLIENT_SECRET", sandbox.client_secret)
    assert talentdata.Client().permissions().roles
    assert talentdata.Client(client_id="mine").client_id == "mine"
    directory = tmp_path / "talentdata"
    directory.mkdir()
    profiles = directory / "profiles.toml"
    profiles.write_text('[other]\nbase_url = "http://127.0.0.1:1"\nclient_id = "hers"\n')
    profiles.chmod(0o600)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("TALENTDATA_CLIENT_ID")
    assert talentdata.Client(profile="other").client_id == "hers"
    with pytest.raises(talentdata.ConfigError, match="nosuch"):
        talentdata.Client(profile="nosuch")


def test_with_options_changes_only_what_is_named(client, sandbox, faults):
    faults({"match": {"path": "/v1/version"}, "reply": {"status": 503}})
    once = client.with_options(max_attempts=1)
    assert (once.base_url, once.client_id) == (client.base_url, client.client_id)
    with pytest.raises(talentdata.ServerError) as caught:
        once.version()
    assert caught.value.attempts == 1
    with pytest.raises(talentdata.ServerError) as caught:
        once.with_options(max_attempts=2).version()
    assert caught.value.attempts == 2


def test_close_ends_calls_and_lets_scans_go_on():
    with held() as service, ThreadPoolExecutor() as threads:
        client = talentdata.Client(base_url=service.base_url)
        call = threads.submit(client.version)
        assert service.asked.wait(60)
        client.close()
        with pytest.raises(talentdata.ClosedError, match="closed"):
            call.result(60)

    with talentdata.Sandbox(records={"contacts": 450}, policy="unlimited") as sandbox:
        with sandbox.client() as client:
            scan, fresh = client.contacts.list(page_size=20), client.contacts.list()
            records = iter(scan)
            next(records)
        assert client.closed and "closed" in repr(client)
        for use in (client.version, client.contacts.list, lambda: client.contacts.page(), client.with_options):
            with pytest.raises(talentdata.ClosedError, match="closed"):
                use()
        client.close()
        assert len(list(records)) == 449 and scan.receipt.completeness == "proven"
        assert fresh.to_arrow().num_rows == 450


def test_close_ends_the_calls_of_other_tasks():
    async def main(service):
        async with talentdata.AsyncClient(base_url=service.base_url) as client:
            call = asyncio.create_task(client.version())
            await asyncio.to_thread(service.asked.wait, 60)
        with pytest.raises(talentdata.ClosedError, match="closed"):
            await call

    with held() as service:
        asyncio.run(main(service))


def test_a_defect_in_rust_is_an_exception_and_the_client_stays_usable(client):
    with pytest.raises(talentdata.InternalError, match="on purpose"):
        client._defect()
    assert client.version().version == "1.8.2"


def test_a_refused_secret_is_in_no_frame_of_the_traceback():
    code = "import talentdata, sys, traceback\n" \
        "try: talentdata.Client(base_url='http://127.0.0.1:1', client_secret=' ' + 'yranac'[::-1])\n" \
        "except talentdata.ConfigError: print(*traceback.TracebackException(*sys.exc_info(), capture_locals=True).format())\n"
    result = python(code)
    assert "client_secret" in result.stdout
    assert "canary" not in result.stdout


def test_secrets_are_in_no_log_no_display_and_no_traceback(sandbox, client, faults, caplog):
    formatters = pytest.importorskip("IPython.core.formatters")
    logging.getLogger("user").error("%r %s", client, client)
    shown = [caplog.text, *(str(getattr(client, name)) for name in dir(client))]
    for thing in (client, sandbox, client.contacts, client.contacts.list(), client.contacts.page(limit=2), client.contacts.plan()):
        shown += [repr(thing), str(thing), *map(str, formatters.DisplayFormatter().format(thing)[0].values())]
    faults({"match": {"path": "/v1/oauth/token/permissions"}, "reply": {"status": 403, "body": {"secret": sandbox.client_secret}}})
    with pytest.raises(talentdata.ForbiddenError) as caught:
        client.permissions()
    # With the local variables of every frame.
    shown += traceback.TracebackException.from_exception(caught.value, capture_locals=True).format()
    shown += [repr(caught.value), str(vars(caught.value)), str(pickle.dumps(caught.value))]
    assert len(shown) > 20 and not any(sandbox.client_secret in text for text in shown)
    for use in (json.dumps, vars):
        with pytest.raises(TypeError):
            use(client)


def test_wrong_bodies_are_named(client, sandbox):
    for version, categories, message in [
        ("1.8.2", "taxonomy", "body: endpoints: found string, expected a sequence"),
        (18, ["taxonomy"], "body: clientVersion: found integer, expected a string"),
        (" ", [], "client_version"),
    ]:
        with pytest.raises(talentdata.InvalidArgumentError, match=message):
            client.check_version(version, categories)
    with pytest.raises(TypeError, match="a set cannot be sent as JSON"):
        client.check_version("1.8.2", {"taxonomy"})
    assert sandbox.stats()["requests"] == 0


def test_every_list_is_there(client, sandbox):
    for name in talentdata._lists.NAMES:
        assert getattr(client, name).page(limit=1)[0].to_dict(), name
    paths = [request["path"] for request in seen(sandbox) if request["method"] == "GET"]
    assert {"/v1/ja/departments", "/v1/taxonomy/roles"} < set(paths) and len(paths) == len(set(paths)) == 9
