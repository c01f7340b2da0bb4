"""Calls the additions of a spec from every language, on the sandbox of that spec.

Runs in the copy of the workspace. Its argument is the directory of cargo's build.
"""

import asyncio
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path[:0] = ["bindings/python", "xtask/tools"]
BUILT = pathlib.Path(sys.argv[1])
shutil.copy(BUILT / "lib_talentdata_trial.so", "bindings/python/talentdata/_talentdata.abi3.so")
PROGRAM = BUILT / "talentdata_trial"

from commands import succeed  # noqa: E402
from test_services import Sandbox  # noqa: E402

import talentdata  # noqa: E402

PLACE = {"name": "Utrecht", "within": {"name": "Europe"}}


def refused(call, words, kind=talentdata.InvalidArgumentError):
    try:
        call()
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)


def blocking():
    refused(lambda: talentdata.Client(trial_timeout=10), "trial_timeout", talentdata.ConfigError)
    with talentdata.Client(trial_timeout=2.5) as client:
        refused(lambda: client.with_options(trial_timeout=10), "trial_timeout", talentdata.ConfigError)
        first = client.contacts.page(limit=1)[0]
        contact = client.get_contact(first.id, include=["pools", "a&b"], depth=2, x_trace="trial")
        assert isinstance(contact, talentdata.Contact) and contact.email == first.email
        found = client.search_contacts(["active", "left"], limit=3, place=PLACE, match_=7)
        assert found["contacts"] and "total" in found["pagination"], found
        assert client.delete_pool("one") is None
        refused(lambda: client.get_contact(""), "id: must not be empty")
        refused(lambda: client.search_contacts("active"), "states: found string")
        refused(lambda: client.get_contact(first.id, depth="deep"), "depth: must be an integer (got a string)")
        assert client.teams.page().pagination.total >= 0
        assert not hasattr(client, "ja_tasks")
        filters(client)


def filters(client):
    projects = client.projects("eu", updated_since="2026-01-01T00:00:00Z", state=["open", "shut"], x_tenant="mine")
    scan = projects.list()
    assert len({project["id"] for project in scan}) == 600
    assert scan.receipt.parameters["state"] == ["open", "shut"] and "mine" not in str(scan.receipt.parameters)
    assert projects.plan().records == 600 and len(projects.page(limit=5)) == 5
    assert projects.schema()["resource"] == "projects"
    with tempfile.TemporaryDirectory() as directory:
        exports(client, projects, os.path.join(directory, "projects.csv"))
        syncs(client, projects, os.path.join(directory, "mirror.db"))
    assert len(client.contacts(updated_since="2026-01-01T00:00:00Z").page(limit=1)) == 1
    assert isinstance(client.contacts.page(limit=1)[0], talentdata.Contact)
    refused(lambda: client.projects.page(), "region: is required")
    refused(lambda: list(client.projects.list()), "region: is required")
    refused(lambda: client.projects("eu", min_size="big").page(), "min_size: must be an integer (got a string)")
    # The client sends the filter, which the service refuses.
    refused(lambda: client.contacts(updated_since="yesterday").page(), "", talentdata.BadRequestError)


def exports(client, projects, path):
    receipt = projects.export(path)
    assert receipt.records == 600 and receipt.parameters["region"] == "eu"
    refused(lambda: client.projects.export(path), "region: is required")
    refused(lambda: client.contacts(updated_since="yesterday").export(path), "", talentdata.BadRequestError)
    path += ".trial"
    assert client.contacts.export(path).records == 600
    with open(path) as written:
        assert written.read() == "trial\n" * 600
    refused(lambda: client.contacts.export(path, page_size=26), "26", talentdata.TrialError)
    assert talentdata.TrialError.kind == "Trial"


def syncs(client, projects, path):
    [synced, others] = client.sync([projects, "pools"], path)
    assert synced.changes["insert"] == 600 and synced.scan.parameters["region"] == "eu"
    assert others.changes["insert"] > 0
    refused(lambda: client.sync(["projects"], path), "region: is required")
    refused(lambda: client.sync([client.projects("us")], path), "sync into another file", talentdata.MismatchError)


async def waiting():
    async with talentdata.AsyncClient(trial_timeout=2.5) as client:
        first = (await client.contacts.page(limit=1))[0]
        contact = await client.get_contact(first.id, include=["pools"])
        assert contact.id == first.id
        found = await client.search_contacts(["active"])
        assert found["contacts"]
        projects = client.projects("us", min_size=3)
        assert len([project async for project in projects.list()]) == 600
        assert (await projects.page()).pagination.total == 600
        with tempfile.TemporaryDirectory() as directory:
            receipt = await projects.export(os.path.join(directory, "projects.jsonl"))
            [synced] = await client.sync([projects], os.path.join(directory, "mirror.db"))
        assert receipt.records == 600 and receipt.parameters["minSize"] == 3
        assert synced.scan.parameters["minSize"] == 3
        assert await client.delete_pool("one") is None


def native():
    """Builds and runs the programs of Rust, C and C++."""
    os.mkdir("lib")
    # The second name is the one that programs look up when they start.
    for name in ("libtalentdata.so", f"libtalentdata.so.{pathlib.Path('crates/ffi-c/abi').read_text().strip()}"):
        shutil.copy(BUILT / "libtalentdata_trial.so", f"lib/{name}")
    options = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-I", "bindings/c/include", "-L", "lib", "-Wl,-rpath,lib"]
    fixture = ["-I", "bindings/c/tests", "bindings/c/tests/fixture.c"]
    for compiler, standard, name, others in (
        ("cc", "-std=c11", "calls.c", fixture),
        ("c++", "-std=c++17", "calls.cpp", []),
    ):
        source = f"xtask/src/outputs/tests/calls/{name}"
        succeed(compiler, standard, *options, source, *others, "-o", f"{name}.out", "-ltalentdata")
        succeed(f"./{name}.out")
    succeed(BUILT / "examples/calls")


def ended(arguments, given=""):
    done = subprocess.run([PROGRAM, *arguments], input=given, stdout=subprocess.PIPE, text=True)
    return done.returncode, done.stdout


def command(arguments, given=""):
    code, out = ended(arguments.split(), given)
    assert code == 0, arguments
    return json.loads(out or "null")


def command_line():
    contact = command("page contacts --limit 1 --trial-timeout 2")["records"][0]["id"]
    options = "--include pools --include a&b --depth 2 --x-trace trial"
    assert command(f"get-contact --id {contact} {options}")["id"] == contact
    found = command("search-contacts --states active --limit 3 --match 7")
    assert isinstance(found["contacts"][0]["id"], str), found
    found = command("search-contacts --body -", '{"states": ["active"], "place": {"name": "Utrecht"}}')
    assert isinstance(found["pagination"]["total"], int), found
    assert command("delete-pool --id one") is None
    # `--format` is the flag of the export, so the parameter of the list has the flag `--format-`.
    region = "--region eu --state open --state shut"
    export = f"export projects {region} --format- long --x-tenant mine --out projects.jsonl --receipt receipt.json"
    assert ended(export.split())[0] == 0
    receipt = pathlib.Path("receipt.json").read_text()
    parameters = json.loads(receipt)[0]["parameters"]
    assert parameters["state"] == ["open", "shut"] and parameters["region"] == "eu", parameters
    assert "mine" not in receipt and isinstance(parameters["X-Tenant"], str), parameters
    assert ended("export contacts --out contacts.trial".split())[0] == 0
    for file in ("projects.jsonl", "contacts.trial"):
        assert len(pathlib.Path(file).read_text().splitlines()) == 600
    assert command(f"page projects --format short {region}")["pagination"]["total"] == 600
    for code, arguments in [
        (0, "plan projects --region us"),
        (40, "export contacts --out contacts.trial --page-size 26"),
        (2, "page contacts --trial-timeout soon"),
        (2, "get-contact"),
        (2, "get-contact --id "),
        (2, "get-contact --id x --depth deep"),
        (2, "search-contacts --limit 3"),
        (2, "search-contacts --states active --body -"),
        (2, "page projects"),
        (2, "page contacts --region eu"),
        (2, "page projects --region eu --min-size big"),
        (2, "export projects --out never.jsonl"),
        # Contacts have no parameter `region`.
        (2, "plan projects contacts --updated-since 2026-01-01T00:00:00Z --region eu"),
        # The client sends the value, which the service refuses.
        (26, "page contacts --updated-since yesterday"),
    ]:
        assert ended(arguments.split(" "))[0] == code, arguments
    assert ended(["search-contacts", "--body", "-"], "{}")[0] == 2


os.environ["XDG_RUNTIME_DIR"] = tempfile.mkdtemp(dir=".")
# These tests do not depend on the pace of requests.
os.environ["TALENTDATA_PACED"] = "false"
with Sandbox(PROGRAM, "--policy=unlimited", "--records=contacts=600,projects=600") as sandbox:
    os.environ.update(sandbox.variables)
    native()
    blocking()
    asyncio.run(waiting())
    command_line()
