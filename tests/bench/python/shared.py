"""Reads all contacts through the package within the rate limit, and prints how many there were."""

import talentdata

with talentdata.Client() as client:
    print(sum(1 for _ in client.contacts.list(progress=False)))
