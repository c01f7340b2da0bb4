"""Everything that a caller keeps can be pickled and copied, and is the same afterwards."""

import copy
import pickle

import pytest

import talentdata

NAMES = [name for name in talentdata.__all__ if isinstance(getattr(talentdata, name), type)]
CLASSES = [getattr(talentdata, name) for name in NAMES]
RECORDS = [cls for cls in CLASSES if issubclass(cls, talentdata.Record)]
ENUMS = [cls for cls in CLASSES if issubclass(cls, talentdata.OpenEnum)]
ERRORS = [cls for cls in CLASSES if issubclass(cls, talentdata.Error)]


def copies(thing):
    """The thing by every way."""
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        yield pickle.loads(pickle.dumps(thing, protocol))
    yield copy.copy(thing)
    yield copy.deepcopy(thing)


def test_the_classes_are_found():
    assert {talentdata.Contact, talentdata.Receipt, talentdata.Plan} <= set(RECORDS)
    assert {talentdata.ApiStatus, talentdata.Completeness} <= set(ENUMS)
    assert len(ERRORS) == 27


@pytest.mark.parametrize("cls", RECORDS, ids=lambda cls: cls.__name__)
def test_models(cls):
    text = '{"id": "7", "big": 18446744073709551616, "\\u0061": [1.0, null]}'
    for other in copies(cls(text)):
        assert type(other) is cls and other == cls(text) and other.json == text


@pytest.mark.parametrize("cls", ENUMS, ids=lambda cls: cls.__name__)
def test_enums(cls):
    for other in copies(cls("new")):
        assert type(other) is cls and other == "new"


@pytest.mark.parametrize("cls", ERRORS, ids=lambda cls: cls.__name__)
def test_errors(cls):
    facts = {"operation": "o", "status": 418, "attempts": 2, "retry_after": 1.5, "request_id": "r", "offset": 7, "body": "b"}
    error = cls("what went wrong", **facts)
    for other in copies(error):
        assert type(other) is cls and str(other) == "what went wrong" and other.kind == cls.kind
        assert vars(other) == facts


def test_what_calls_return(client):
    scan = client.contacts.list()
    contacts = list(scan)
    page = client.contacts.page(limit=5)
    for thing in (contacts, page, scan.receipt, client.contacts.plan(), client.version(), client.permissions()):
        for other in copies(thing):
            assert type(other) is type(thing) and other == thing
    assert pickle.loads(pickle.dumps(page)).pagination.total == 450


def test_what_holds_connections_cannot_be_pickled_and_says_so(client, sandbox):
    for thing in (client, sandbox.async_client(), sandbox, client.contacts, client.contacts.list()):
        for use in (pickle.dumps, copy.deepcopy):
            with pytest.raises(TypeError, match="pickle"):
                use(thing)
