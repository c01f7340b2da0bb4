"""Reads all contacts through the package in the way that is named, and prints how many there were."""

import sys

import talentdata


def arrow(contacts):
    """A table of pyarrow."""
    return contacts.list(progress=False).to_arrow().num_rows


def batches(contacts):
    """Record batches, one after the other; none is kept."""
    import pyarrow

    scan = contacts.list(progress=False)
    return sum(batch.num_rows for batch in pyarrow.RecordBatchReader.from_stream(scan))


def parquet(contacts):
    """A Parquet file, under the path given as the second argument."""
    return contacts.export(sys.argv[2], format="parquet", progress=False).records


def records(contacts):
    """Python objects, two fields of which are looked at."""
    count = letters = 0
    for contact in contacts.list(progress=False):
        letters += len(contact.first_name) + len(contact.email)
        count += 1
    return count if letters else 0


with talentdata.Client() as client:
    print(globals()[sys.argv[1]](client.contacts))
