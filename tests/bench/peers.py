"""Reads contacts as other clients would: `peers.py WAY [ARGUMENT]`. Each way imports only the packages that it needs, because
its memory and processor time are measured."""

import json
import os
import random
import sys
import time

PAGE = 100
BASE_URL = os.environ["TALENTDATA_BASE_URL"]
CREDENTIALS = {
    "clientId": os.environ["TALENTDATA_CLIENT_ID"],
    "clientSecret": os.environ["TALENTDATA_CLIENT_SECRET"],
}


class Rule:
    """The documented client rule (section 8, rate limit, 3 and 4)."""

    def __init__(self):
        self.refused = 0

    def answered(self, status, headers):
        """Waits if the rule demands it, and returns whether the request must be sent again."""
        if status != 429:
            self.refused = 0
            if float(headers["x-ratelimit-remaining"]) < 1:
                time.sleep(float(headers["x-ratelimit-reset"]))
            return False
        back_off = min(16.0, 0.1 * 2**self.refused) * random.uniform(0.5, 1.0)
        self.refused += 1
        time.sleep(max(float(headers["x-ratelimit-reset"]), back_off))
        return True


def pages(get):
    """Yields the contacts of each page."""
    offset, goes_on = 0, True
    while goes_on:
        page = get(limit=PAGE, offset=offset)
        yield page["contacts"]
        offset += PAGE
        goes_on = page["pagination"]["hasMore"]


def write(contacts):
    for contact in contacts:
        sys.stdout.write(json.dumps(contact, ensure_ascii=False) + "\n")


def serial(typed=""):
    """Writes JSON Lines with hand-written code for the documented rule; with `typed`, through a model of each record."""
    import httpx

    rule, model = Rule(), contact_model() if typed else None

    def send(*request, **parts):
        while True:
            answer = client.request(*request, **parts)
            if not rule.answered(answer.status_code, answer.headers):
                return answer.raise_for_status().json()

    with httpx.Client(base_url=BASE_URL, timeout=60) as client:
        token = send("POST", "/v1/oauth/token", json=CREDENTIALS)["access_token"]
        client.headers["authorization"] = f"Bearer {token}"
        for contacts in pages(lambda **params: send("GET", "/v1/contacts", params=params)):
            write(model.model_validate(one).model_dump() if model else one for one in contacts)


def contact_model():
    """Returns a model of contacts with the documented fields, which accepts other fields."""
    import pydantic

    class Contact(pydantic.BaseModel, extra="allow"):
        id: str
        firstName: str
        lastName: str
        email: str

    return Contact


def generated():
    """Writes JSON Lines with the client that openapi-python-client generates from the spec, by the documented rule."""
    from generated_client import AuthenticatedClient, Client
    from generated_client.api.authentication import create_token
    from generated_client.api.core_crm import list_contacts
    from generated_client.models import TokenRequest

    rule = Rule()

    def send(call, **parts):
        while True:
            # Only this form of a call shows the headers; it does not raise for a status.
            answer = call.sync_detailed(**parts)
            if not rule.answered(answer.status_code, answer.headers):
                if answer.status_code != 200:
                    raise RuntimeError(f"status {answer.status_code}")
                return answer.parsed

    with Client(base_url=BASE_URL) as client:
        token = send(create_token, client=client, body=TokenRequest.from_dict(CREDENTIALS)).access_token
    with AuthenticatedClient(base_url=BASE_URL, token=token) as client:
        for contacts in pages(lambda **params: send(list_contacts, client=client, **params).to_dict()):
            write(contacts)


async def limited(per_second="40", at_once=16, attempts=12):
    """Writes JSON Lines with aiohttp, a limiter, the given number of concurrent requests, and back-off after a 429."""
    import aiohttp
    from aiolimiter import AsyncLimiter

    limiter, room = AsyncLimiter(int(per_second), 1), asyncio.Semaphore(at_once)
    async with aiohttp.ClientSession(BASE_URL) as session:

        async def send(*request, **parts):
            for attempt in range(attempts):
                async with room, limiter, session.request(*request, **parts) as answer:
                    if answer.status != 429:
                        answer.raise_for_status()
                        return await answer.json()
                await asyncio.sleep(min(16.0, 0.25 * 2**attempt) * random.uniform(0.5, 1.0))
            raise RuntimeError(f"refused {attempts} times")

        async def page(offset):
            return await send("GET", "/v1/contacts", params={"limit": PAGE, "offset": offset})

        token = (await send("POST", "/v1/oauth/token", json=CREDENTIALS))["access_token"]
        session.headers["authorization"] = f"Bearer {token}"
        first = await page(0)
        write(first["contacts"])
        offsets = range(PAGE, first["pagination"]["total"], PAGE)
        for arrived in [asyncio.create_task(page(offset)) for offset in offsets]:
            write((await arrived)["contacts"])


async def neighbour(per_second=10, at_most=3000):
    """Runs another client of the same company, which sends this many requests per second, evenly, until standard input ends.

    It waits for no response and does not follow the documented rule, so that it always leaves the same part of the
    limit. Prints the number of requests, and of those that were refused.
    """
    import aiohttp

    loop = asyncio.get_running_loop()
    stopped = loop.run_in_executor(None, sys.stdin.read)
    async with aiohttp.ClientSession(BASE_URL, headers={"user-agent": "neighbour"}) as session:

        async def ask():
            async with session.get("/v1/version") as answer:
                await answer.read()
                return answer.status

        begun, asked = loop.time(), []
        while not stopped.done() and len(asked) < at_most:
            asked.append(asyncio.create_task(ask()))
            await asyncio.sleep(begun + len(asked) / per_second - loop.time())
        statuses = [await answer for answer in asked]
    print(json.dumps({"requests": len(statuses), "refused": statuses.count(429)}))


coroutine = globals()[sys.argv[1]](*sys.argv[2:])
if coroutine:
    import asyncio

    asyncio.run(coroutine)
