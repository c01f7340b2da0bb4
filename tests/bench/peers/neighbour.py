"""Someone else of the same company: 10 requests a second, evenly, until standard input ends.

Never stops for a response, and keeps no rule, so that what is left for the others is always the same. Prints the
number of requests and how many of them were refused.
"""

import asyncio
import json
import os
import sys

import aiohttp

PER_SECOND = 10
MOST_REQUESTS = 3000


async def main():
    loop = asyncio.get_running_loop()
    stopped = loop.run_in_executor(None, sys.stdin.read)
    agent = {"user-agent": "neighbour"}
    async with aiohttp.ClientSession(
        os.environ["TALENTDATA_BASE_URL"], headers=agent
    ) as session:

        async def ask():
            async with session.get("/v1/version") as answer:
                await answer.read()
                return answer.status

        begun = loop.time()
        asked = []
        while not stopped.done() and len(asked) < MOST_REQUESTS:
            asked.append(asyncio.create_task(ask()))
            await asyncio.sleep(begun + len(asked) / PER_SECOND - loop.time())
        statuses = [await answer for answer in asked]
    print(json.dumps({"requests": len(statuses), "refused": statuses.count(429)}))


asyncio.run(main())
