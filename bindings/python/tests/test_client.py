"""The verbs of the client, its settings and its life."""

import copy
import faulthandler
import gc
import json
import logging
import pickle
import pprint
import traceback
import weakref

import pytest
from support import python, seen

import talentdata
from talentdata import ApiStatus, CategoryStatus


def test_version_report(client):
    report = client.version()
    assert report.version == "1.8.2"
    assert report.api_status == "operational" == ApiStatus.OPERATIONAL
    assert report.endpoints["companies"].status == CategoryStatus.ALPHA
    assert report.endpoints["matching"].model_version is not None
    assert report.endpoints["corecrm"].model_version is None
    assert set(report.endpoints) == {"authentication", "taxonomy", "inference", "matching", "companies", "corecrm"}


def test_version_check_has_an_entry_per_category(client):
    check = client.check_version("1.8.2", ["taxonomy", "corecrm"])
    assert check.compatible and check.supported
    assert set(check.endpoint_compatibility) == {"taxonomy", "corecrm"}
    assert check.endpoint_compatibility["taxonomy"].compatible
    for version, categories, message in [
        ("1.8.2", "taxonomy", "body: endpoints: found string, expected a sequence"),
        (18, ["taxonomy"], "body: clientVersion: found integer, expected a string"),
    ]:
        with pytest.raises(talentdata.InvalidArgumentError, match=message):
            client.check_version(version, categories)
    with pytest.raises(talentdata.InvalidArgumentError, match="client_version"):
        client.check_version(" ", [])
    with pytest.raises(TypeError, match="a set cannot be sent as JSON"):
        client.check_version("1.8.2", {"taxonomy"})


def test_permissions(client):
    permissions = client.permissions()
    assert "read:contacts" in permissions.permissions
    assert permissions.roles


def test_values_that_the_document_does_not_show_are_kept(client, faults):
    body = {"version": "9", "apiStatus": "sleeping", "endpoints": {"payroll": {"status": "beta", "version": "1", "owner": "x"}}}
    faults({"match": {"path": "/v1/version"}, "reply": {"body": body}})
    report = client.version()
    assert report.api_status == "sleeping" and not report.api_status.is_known
    assert report.endpoints["payroll"].extra == {"owner": "x"}
    assert report.to_dict() == body


def test_pages(client):
    page = client.contacts.page(limit=20, offset=40)
    assert len(page) == 20 and page.key == "contacts"
    assert (page.pagination.total, page.pagination.offset, page.pagination.has_more) == (450, 40, True)
    assert client.contacts.page(limit=20, offset=40) == page
    assert pickle.loads(pickle.dumps(page)) == page
    assert len(client.contacts.page(offset=450)) == 0


@pytest.mark.parametrize(("limit", "offset"), [(0, 0), (101, 0), (-1, 0), (5, -1), ("5", 0), (1.5, 0), (2**70, 0)])
def test_impossible_pages_are_refused_before_anything_is_sent(client, sandbox, limit, offset):
    with pytest.raises(talentdata.InvalidArgumentError, match="limit|offset"):
        client.contacts.page(limit=limit, offset=offset)
    assert sandbox.stats()["requests"] == 0


def test_all_lists_are_there(client, sandbox):
    names = ["contacts", "vacancies", "pools", "ja_skills", "ja_roles", "ja_tasks", "ja_departments", "taxonomy_skills", "taxonomy_roles"]
    for name in names:
        page = getattr(client, name).page(limit=1)
        assert len(page) == 1 and page[0].to_dict(), name
    paths = {request["path"] for request in seen(sandbox)}
    assert {"/v1/ja/departments", "/v1/taxonomy/roles"} <= paths


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


@pytest.mark.parametrize(
    ("options", "setting"),
    [
        ({"base_url": "ftp://x"}, "base_url"),
        ({"client_secret": " x"}, "client_secret"),
        ({"timeout": -1}, "timeout"),
        ({"idle_timeout": float("nan")}, "idle_timeout"),
        ({"timeout": 0}, "^timeout"),
        ({"connect_timeout": 0}, "^connect_timeout"),
        ({"max_attempts": 0}, "max_attempts"),
        ({"share": 2.0}, "share"),
    ],
)
def test_wrong_settings_are_named(options, setting):
    with pytest.raises(talentdata.ConfigError, match=setting):
        talentdata.Client(**{"base_url": "http://127.0.0.1:1", **options})


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


def test_a_client_that_does_not_pace_itself_waits_for_no_budget():
    with talentdata.Sandbox(records={"contacts": 6000}, policy="unlimited") as sandbox, sandbox.client() as client:
        hasty = client.with_options(paced=False).contacts.list()
        assert sum(1 for _ in hasty) == 6000 and hasty.receipt.seconds_waited_for_budget == 0
        paced = client.contacts.list()
        assert sum(1 for _ in paced) == 6000 and paced.receipt.seconds_waited_for_budget > 0


def test_use_after_close_is_a_clear_error(sandbox):
    with sandbox.client() as client:
        scan = client.contacts.list()
        next(iter(scan))
    assert client.closed and "closed" in repr(client)
    for use in (client.version, client.contacts.list, lambda: client.contacts.page(), lambda: [*scan, *scan], client.with_options):
        with pytest.raises(talentdata.ClosedError, match="closed"):
            use()
    client.close()


def test_a_client_cannot_be_pickled_or_copied(client, sandbox):
    for use in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled"):
            use(client)


def test_a_defect_in_rust_is_an_exception_and_the_client_stays_usable(client):
    with pytest.raises(talentdata.InternalError, match="on purpose"):
        client._defect()
    assert client.version().version == "1.8.2"


def test_secrets_are_shown_nowhere(sandbox, client):
    client.permissions()
    secret = sandbox.client_secret
    shown = [repr(client), str(client), repr(sandbox), repr(client.contacts), repr(client.contacts.list())]
    shown += [str(getattr(client, name)) for name in dir(client)]
    assert not any(secret in text for text in shown)
    with pytest.raises(TypeError):
        json.dumps(client)
    with pytest.raises(TypeError):
        vars(client)


def told_by_failure(client):
    """All that an error tells, the local variables of every frame included."""
    try:
        client.permissions()
    except talentdata.ForbiddenError as error:
        frames = traceback.TracebackException.from_exception(error, capture_locals=True)
        return [*frames.format(), repr(error), str(vars(error)), str(pickle.dumps(error))]


def test_secrets_are_in_no_log_no_display_and_no_traceback(sandbox, client, faults, caplog, tmp_path):
    formatters = pytest.importorskip("IPython.core.formatters")
    secret = sandbox.client_secret
    client.permissions()
    logging.getLogger("user").error("%r %s", client, client)
    shown = [caplog.text, pprint.pformat([client, client.contacts, sandbox])]
    for thing in (client, client.contacts, client.contacts.page(limit=2), client.contacts.plan()):
        shown += map(str, formatters.DisplayFormatter().format(thing)[0].values())
    faults({"match": {"path": "/v1/oauth/token/permissions"}, "reply": {"status": 403, "body": {"secret": secret}}})
    shown += told_by_failure(client)
    with open(tmp_path / "trace", "w+") as file:
        faulthandler.dump_traceback(file)
        file.seek(0)
        shown.append(file.read())
    assert len(shown) > 12 and not any(secret in text for text in shown)


def test_a_refused_secret_is_in_no_frame_of_the_traceback():
    code = "import talentdata, sys, traceback\n" \
        "try: talentdata.Client(base_url='http://127.0.0.1:1', client_secret=' ' + 'yranac'[::-1])\n" \
        "except talentdata.ConfigError: print(*traceback.TracebackException(*sys.exc_info(), capture_locals=True).format())\n"
    result = python(code)
    assert "client_secret" in result.stdout
    assert "canary" not in result.stdout


def test_a_refused_token_error_holds_no_secret(sandbox):
    client = talentdata.Client(base_url=sandbox.base_url, client_id=sandbox.client_id, client_secret="CANARY-1234")
    with pytest.raises(talentdata.AuthError) as caught:
        client.permissions()
    assert caught.value.status == 401
    assert "CANARY" not in repr(caught.value) + str(caught.value.__dict__) and caught.value.operation


def test_clients_are_collected(sandbox):
    class Watched(talentdata.Client):
        pass

    client = Watched(base_url=sandbox.base_url, client_id=sandbox.client_id, client_secret=sandbox.client_secret)
    client.permissions()
    gone = weakref.ref(client)
    del client
    gc.collect()
    assert gone() is None


def test_a_plan_tells_the_cost(client, sandbox):
    plan = client.contacts.plan()
    assert (plan.resource, plan.records, plan.pages) == ("contacts", 450, 7)
    assert 0 < plan.seconds < client.with_options(share=0.5).contacts.plan().seconds
    scan = client.contacts.list()
    list(scan)
    assert scan.receipt.pages == plan.pages
