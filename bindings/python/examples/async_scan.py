"""The async client: several lists at once, with one shared budget."""

from __future__ import annotations

import asyncio

import talentdata


async def count(resource: talentdata.AsyncList[talentdata.Record]) -> int:
    """Reads a list to its end and counts its records."""
    scan = resource.list()
    return sum([1 async for _ in scan])


async def main(sandbox: talentdata.Sandbox) -> list[int]:
    """Reads one contact, then two lists concurrently."""
    async with sandbox.async_client(share=0.5) as client:
        check = await client.check_version("1.8.2", ["taxonomy"])
        version: str | None = check.endpoint_compatibility["taxonomy"].model_version
        print(check.compatible, version)
        async for contact in client.contacts.list():
            first: str = contact.first_name
            print(first)
            break
        return list(await asyncio.gather(count(client.pools), count(client.ja_departments)))


if __name__ == "__main__":
    with talentdata.Sandbox() as one:
        print(asyncio.run(main(one)))
