"""Contacts as JSON Lines by aiohttp, with a limiter of 40 per second or as the environment says, 16 requests at once,
and back-off after a 429."""

import asyncio
import json
import os
import random
import sys

import aiohttp
from aiolimiter import AsyncLimiter

PAGE = 100
AT_ONCE = 16
MOST_ATTEMPTS = 12


async def main():
    limiter = AsyncLimiter(int(os.environ.get("REQUESTS_PER_SECOND", "40")), 1)
    room = asyncio.Semaphore(AT_ONCE)
    async with aiohttp.ClientSession(os.environ["TALENTDATA_BASE_URL"]) as session:

        async def send(*request, **parts):
            for attempt in range(MOST_ATTEMPTS):
                async with room, limiter, session.request(*request, **parts) as answer:
                    if answer.status != 429:
                        answer.raise_for_status()
                        return await answer.json()
                await asyncio.sleep(min(16.0, 0.25 * 2**attempt) * random.uniform(0.5, 1.0))
            raise RuntimeError(f"refused {MOST_ATTEMPTS} times")

        async def page(offset):
            return await send(
                "GET", "/v1/contacts", params={"limit": PAGE, "offset": offset}
            )

        def write(page):
            for contact in page["contacts"]:
                sys.stdout.write(json.dumps(contact, ensure_ascii=False) + "\n")

        credentials = {
            "clientId": os.environ["TALENTDATA_CLIENT_ID"],
            "clientSecret": os.environ["TALENTDATA_CLIENT_SECRET"],
        }
        token = (await send("POST", "/v1/oauth/token", json=credentials))["access_token"]
        session.headers["authorization"] = f"Bearer {token}"
        first = await page(0)
        write(first)
        offsets = range(PAGE, first["pagination"]["total"], PAGE)
        pages = [asyncio.create_task(page(offset)) for offset in offsets]
        for arrived in pages:
            write(await arrived)


asyncio.run(main())
