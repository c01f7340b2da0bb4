"""Deletes by the plain way: two lists read by offset, one after the other, and what is no longer in the second.

Keeps the ids in the file of its argument, and writes those that it takes for deleted as JSON, one a line.
"""

import json
import os
import sys

import httpx

PAGE = 100


def main():
    with httpx.Client(base_url=os.environ["TALENTDATA_BASE_URL"], timeout=60) as client:
        credentials = {
            "clientId": os.environ["TALENTDATA_CLIENT_ID"],
            "clientSecret": os.environ["TALENTDATA_CLIENT_SECRET"],
        }
        token = client.post("/v1/oauth/token", json=credentials).raise_for_status().json()["access_token"]
        client.headers["authorization"] = f"Bearer {token}"
        ids, offset, more = set(), 0, True
        while more:
            request = client.get("/v1/contacts", params={"limit": PAGE, "offset": offset})
            page = request.raise_for_status().json()
            ids.update(contact["id"] for contact in page["contacts"])
            offset += PAGE
            more = page["pagination"]["hasMore"]
    [path] = sys.argv[1:]
    if os.path.exists(path):
        with open(path) as file:
            for gone in sorted(set(json.load(file)) - ids):
                print(json.dumps(gone))
    with open(path, "w") as file:
        json.dump(sorted(ids), file)


main()
