"""Reads all contacts through the package as Python objects, reads two fields of each, and prints their number."""

import talentdata

count = letters = 0
with talentdata.Client() as client:
    for contact in client.contacts.list(progress=False):
        letters += len(contact.first_name) + len(contact.email)
        count += 1
print(count if letters else 0)
