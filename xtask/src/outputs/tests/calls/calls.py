"""Calls each new operation from Python, with both clients."""

import asyncio
import os
import tempfile

import talentdata

PLACE = {"name": "Utrecht", "within": {"name": "Europe"}}


def refused(call, words):
    try:
        call()
    except talentdata.InvalidArgumentError as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)


def blocking():
    with talentdata.Client() as client:
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
    assert len(client.contacts(updated_since="2026-01-01T00:00:00Z").page(limit=1)) == 1
    assert isinstance(client.contacts.page(limit=1)[0], talentdata.Contact)
    refused(lambda: client.projects.page(), "region: is required")
    refused(lambda: list(client.projects.list()), "region: is required")
    refused(lambda: client.projects("eu", min_size="big").page(), "min_size: must be an integer (got a string)")
    try:
        client.contacts(updated_since="yesterday").page()
    except talentdata.BadRequestError:
        pass
    else:
        raise AssertionError("the filter was not sent")


def exports(client, projects, path):
    receipt = projects.export(path)
    assert receipt.records == 600 and receipt.parameters["region"] == "eu"
    refused(lambda: client.projects.export(path), "region: is required")
    try:
        client.contacts(updated_since="yesterday").export(path)
    except talentdata.BadRequestError:
        pass
    else:
        raise AssertionError("the filter was not sent")
    path += ".trial"
    assert client.contacts.export(path).records == 600
    with open(path) as written:
        assert written.read() == "trial\n" * 600
    try:
        client.contacts.export(path, page_size=26)
    except talentdata.TrialError as error:
        assert error.kind == "Trial"
    else:
        raise AssertionError("it was not raised")


async def waiting():
    async with talentdata.AsyncClient() as client:
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
        assert receipt.records == 600 and receipt.parameters["minSize"] == 3
        assert await client.delete_pool("one") is None


blocking()
asyncio.run(waiting())
