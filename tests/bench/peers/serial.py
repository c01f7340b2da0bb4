"""Contacts as JSON Lines by one request after another, written by hand with httpx."""

import json
import os
import sys

import httpx

from rule import Rule

PAGE = 100


def main():
    rule = Rule()
    with httpx.Client(base_url=os.environ["TALENTDATA_BASE_URL"], timeout=60) as client:

        def send(*request, **parts):
            while True:
                answer = client.request(*request, **parts)
                if not rule.answered(answer.status_code, answer.headers):
                    answer.raise_for_status()
                    return answer.json()

        credentials = {
            "clientId": os.environ["TALENTDATA_CLIENT_ID"],
            "clientSecret": os.environ["TALENTDATA_CLIENT_SECRET"],
        }
        token = send("POST", "/v1/oauth/token", json=credentials)["access_token"]
        client.headers["authorization"] = f"Bearer {token}"
        offset, more = 0, True
        while more:
            page = send("GET", "/v1/contacts", params={"limit": PAGE, "offset": offset})
            for contact in page["contacts"]:
                sys.stdout.write(json.dumps(contact, ensure_ascii=False) + "\n")
            offset += PAGE
            more = page["pagination"]["hasMore"]


main()
