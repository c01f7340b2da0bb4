"""Contacts as objects of pydantic, by one request after another with httpx; prints how many there were.

It keeps no rule of the service: it is for one that counts nothing.
"""

import os

import httpx
import pydantic


class Contact(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    id: str
    firstName: str
    lastName: str
    email: str


class Pagination(pydantic.BaseModel):
    total: int
    limit: int
    offset: int
    hasMore: bool


class Contacts(pydantic.BaseModel):
    contacts: list[Contact]
    pagination: Pagination


def main():
    count = letters = 0
    with httpx.Client(base_url=os.environ["TALENTDATA_BASE_URL"], timeout=60) as client:
        credentials = {
            "clientId": os.environ["TALENTDATA_CLIENT_ID"],
            "clientSecret": os.environ["TALENTDATA_CLIENT_SECRET"],
        }
        token = client.post("/v1/oauth/token", json=credentials).json()["access_token"]
        client.headers["authorization"] = f"Bearer {token}"
        more = True
        while more:
            answer = client.get("/v1/contacts", params={"limit": 100, "offset": count})
            page = Contacts.model_validate_json(answer.raise_for_status().content)
            for contact in page.contacts:
                letters += len(contact.firstName) + len(contact.email)
            count += len(page.contacts)
            more = page.pagination.hasMore
    print(count if letters else 0)


main()
