"""Calls each new operation from Python, with both clients."""

import asyncio

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


async def waiting():
    async with talentdata.AsyncClient() as client:
        first = (await client.contacts.page(limit=1))[0]
        contact = await client.get_contact(first.id, include=["pools"])
        assert contact.id == first.id
        found = await client.search_contacts(["active"])
        assert found["contacts"]
        assert await client.delete_pool("one") is None


blocking()
asyncio.run(waiting())
