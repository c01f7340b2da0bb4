"""Contacts as JSON Lines through the client that openapi-python-client generates from the spec, one after another."""

import json
import os
import sys

from generated_client import AuthenticatedClient, Client
from generated_client.api.authentication import create_token
from generated_client.api.core_crm import list_contacts
from generated_client.models import TokenRequest

from rule import Rule

PAGE = 100


def main():
    rule = Rule()

    def send(call, **parts):
        while True:
            # Only this form of a call shows the headers; it does not raise for a status.
            answer = call.sync_detailed(**parts)
            if not rule.answered(answer.status_code, answer.headers):
                if answer.status_code != 200:
                    raise RuntimeError(f"status {answer.status_code}")
                return answer.parsed

    base_url = os.environ["TALENTDATA_BASE_URL"]
    credentials = TokenRequest(
        client_id=os.environ["TALENTDATA_CLIENT_ID"],
        client_secret=os.environ["TALENTDATA_CLIENT_SECRET"],
    )
    with Client(base_url=base_url) as client:
        token = send(create_token, client=client, body=credentials).access_token
    with AuthenticatedClient(base_url=base_url, token=token) as client:
        offset, more = 0, True
        while more:
            page = send(list_contacts, client=client, limit=PAGE, offset=offset)
            for contact in page.contacts:
                line = json.dumps(contact.to_dict(), ensure_ascii=False)
                sys.stdout.write(line + "\n")
            offset += PAGE
            more = page.pagination.has_more


main()
