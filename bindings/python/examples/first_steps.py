"""First steps: a page, all contacts, a receipt, data frames, and errors."""

from __future__ import annotations

import pyarrow

import talentdata


def names(client: talentdata.Client) -> list[str]:
    """Returns the names of all contacts."""
    return [f"{contact.first_name} {contact.last_name}" for contact in client.contacts.list()]


def phone(contact: talentdata.Contact) -> str | None:
    """Returns a field without documentation. Such a field has no attribute, only its name in the API."""
    found = contact.get("phone")
    return found if isinstance(found, str) else None


def main() -> None:
    """Runs against a sandbox. For the real service, `talentdata.Client()` takes its settings from the environment."""
    with talentdata.Sandbox(records={"contacts": 250}) as sandbox, sandbox.client() as client:
        report = client.version()
        if report.api_status != talentdata.ApiStatus.OPERATIONAL:
            print("the service is", report.api_status)
        page: talentdata.Page[talentdata.Contact] = client.contacts.page(limit=5)
        total: int = page.pagination.total
        emails: list[str] = [contact.email for contact in page]
        print(total, emails, phone(page[0]))
        print(len(names(client)))
        scan = client.vacancies.list(page_size=50)
        titles = [vacancy["title"] for vacancy in scan if "title" in vacancy]
        print(len(titles), scan.receipt.completeness, scan.receipt.seconds)
        frame = client.vacancies.list().to_polars()
        # A scan also implements the Arrow protocol, so pyarrow can read it directly.
        table = pyarrow.table(client.vacancies.list())
        print(frame.height, table.num_rows, len(client.vacancies.list().to_pandas()))
        try:
            client.contacts.page(limit=1000)
        except talentdata.InvalidArgumentError as error:
            print(error, error.status, error.retry_after)


if __name__ == "__main__":
    main()
