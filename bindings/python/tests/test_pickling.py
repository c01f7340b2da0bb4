"""Pickling and copying of errors, records, open enums and other results, which stay equal."""

import copy
import pickle

import pytest

import talentdata

CLASSES = [
    thing for thing in vars(talentdata).values() if isinstance(thing, type) and thing.__name__ in talentdata.__all__
]
RECORDS, ENUMS, ERRORS = (
    [cls for cls in CLASSES if issubclass(cls, base)]
    for base in (talentdata.Record, talentdata.OpenEnum, talentdata.Error)
)


def copies(thing):
    """Yields a copy of the object by every protocol of pickle and by both functions of `copy`."""
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        yield pickle.loads(pickle.dumps(thing, protocol))
    yield copy.copy(thing)
    yield copy.deepcopy(thing)


def test_models_and_enums():
    assert {talentdata.Contact, talentdata.Receipt, talentdata.Plan} <= set(RECORDS)
    text = '{"id": "7", "big": 18446744073709551616, "\\u0061": [1.0, null]}'
    for cls in RECORDS:
        assert all(type(other) is cls and other == cls(text) and other.json == text for other in copies(cls(text)))
    assert {talentdata.ApiStatus, talentdata.Completeness} <= set(ENUMS)
    for cls in ENUMS:
        assert all(type(other) is cls and other == "new" for other in copies(cls("new")))


def test_errors(client, sandbox):
    assert len(ERRORS) == 30
    facts = {
        "operation": "o",
        "status": 418,
        "attempts": 2,
        "retry_after": 1.5,
        "request_id": "r",
        "offset": 7,
        "body": "b",
    }
    for cls in ERRORS:
        assert cls.__module__ == "talentdata" and (cls is talentdata.Error or cls.kind + "Error" == cls.__name__)
        error = cls("what went wrong", **facts)
        for other in copies(error):
            assert type(other) is cls and str(other) == "what went wrong" and other.kind == cls.kind
            assert vars(other) == facts
    reply = {"status": 429, "headers": {"retry-after": "120", "x-request-id": "r-9"}, "body": {"error": "slow down"}}
    sandbox.set_faults({"match": {"path": "/v1/version"}, "reply": reply})
    with pytest.raises(talentdata.RateLimitedError) as caught:
        client.version()
    known = {"operation": "getVersion", "status": 429, "attempts": 1, "retry_after": 120.0, "request_id": "r-9"}
    known |= {"offset": None, "body": '{"error":"slow down"}', "retryable": True}
    assert vars(caught.value) == known


def test_results_of_calls(client):
    scan = client.contacts.list()
    contacts = list(scan)
    page = client.contacts.page(limit=5)
    for thing in (contacts, page, scan.receipt, client.contacts.plan(), client.version(), client.permissions()):
        assert all(type(other) is type(thing) and other == thing for other in copies(thing))
    assert pickle.loads(pickle.dumps(page)).pagination.total == 450


def test_objects_with_connections_cannot_be_pickled(client, sandbox):
    for thing in (client, sandbox.async_client(), sandbox, client.contacts, client.contacts.list()):
        for use in (pickle.dumps, copy.deepcopy):
            with pytest.raises(TypeError, match="pickle"):
                use(thing)
