"""Records: attributes, names in the API, exact numbers, equality."""

import json
from collections.abc import Mapping

import pytest

import talentdata
from talentdata import Contact, Record

TEXT = (
    '{"id":"7","firstName":"Ada","lastName":"L\\u00f6w","email":"a@example.com","big":123456789012345678901234567890,'
    '"negative":-9223372036854775809,"digits":0.10000000000000000001,"huge":1E400,"zero":-0,"nested":{"deep":[1,null,true,"x"]},'
    '"e\\u0073c":"\\"q\\"","none":null}'
)
TWICE = '{"id":"a","firstName":"A","lastName":"B","email":"c","x":1,"id":"b","\\u0078":{"y":1,"y":2}}'


def test_documented_fields_are_attributes_and_all_fields_have_their_api_names():
    contact = Contact(TEXT)
    assert (contact.id, contact.first_name, contact.last_name, contact.email) == ("7", "Ada", "Löw", "a@example.com")
    assert contact["firstName"] == "Ada" and contact["esc"] == '"q"' and contact["none"] is None
    assert contact.get("nothing") is None and contact.get("nothing", 5) == 5
    assert "none" in contact and "nothing" not in contact and 5 not in contact
    with pytest.raises(KeyError, match="nothing"):
        contact["nothing"]
    with pytest.raises(AttributeError, match=r"no attribute 'firstName'; record\[\"firstName\"\] is the field"):
        contact.firstName  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'nothing'$"):
        contact.nothing  # noqa: B018
    with pytest.raises(AttributeError):
        contact.first_name = "Eve"


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TWICE,
        f'{{"n":-{"9" * 4000}}}',
        '{"a":"\\ud800x","\\udc00":1}',
        '{"a":' + "[" * 100 + "]" * 100 + "}",
        '{"a" : -0.0,\t"b":[1E+2, {"a/b":"\\ud83d\\ude00\\u0000"}], "a":1e22}',
    ],
)
def test_values_are_those_of_the_json_library_and_the_text_is_kept(text):
    record = Contact(text)
    assert record.json == text
    read = json.loads(text)
    assert record.to_dict() == read == dict(record) == {**record} and list(record) == list(read) == record.keys()
    assert list(record.values()) == list(read.values()) and isinstance(record, Mapping) and len(record) == len(read)
    assert list(record.extra) == [name for name in read if name not in ("id", "firstName", "lastName", "email")]
    assert all(record[name] == record.get(name) == read[name] for name in read)
    assert repr(record.to_dict()) == repr(read) and len(repr(record)) < 1000


@pytest.mark.parametrize(
    "text", ["", "[]", "1", "{", '{"a":1}x', "{'a':1}", '{"a":01}', '{"a":' + "[" * 100_000 + "]" * 100_000 + "}"]
)
def test_only_json_objects_are_records(text):
    with pytest.raises(talentdata.InvalidArgumentError, match="JSON object|127 levels"):
        Record(text)


def test_equality():
    contact = Contact(TEXT)
    assert contact == Contact(TEXT) == Contact(TEXT.replace(":", " : "))
    assert Contact(TWICE) == Contact('{"x":{"y":2},"id":"b","firstName":"A","lastName":"B","email":"c"}')
    assert contact != Record(TEXT) and contact != json.loads(TEXT) and contact != Contact('{"id":"8"}')
    with pytest.raises(TypeError, match="unhashable"):
        hash(contact)


def test_open_enums_are_strings():
    status = talentdata.ApiStatus("degraded")
    assert status == "degraded" and status.is_known and {status: 1}["degraded"] == 1
    assert not talentdata.ApiStatus("new").is_known
    assert repr(status) == "ApiStatus('degraded')" and json.dumps(status) == '"degraded"'


def test_records_and_columns_keep_the_received_text_byte_for_byte(client, sandbox):
    texts = [TWICE, TWICE.replace('"b"', f'"{2**64}"').replace(":1,", ": 1.50e3,")]
    pagination = '{"total":2,"limit":2,"offset":0,"hasMore":false}'
    body = f'{{"success":true,"contacts":[{",".join(texts)}],"pagination":{pagination}}}'
    sandbox.set_faults(
        {"match": {"path": "/v1/contacts"}, "reply": {"body": body, "headers": {"content-type": "application/json"}}}
    )
    # The last value of a repeated member wins, for the identity of records and in columns.
    scan = client.contacts.list()
    assert [contact.json for contact in scan] == texts and scan.receipt.completeness == "proven"
    assert client.contacts.list().to_arrow()["id"].to_pylist() == ["b", str(2**64)]


def test_a_missing_or_wrong_field_is_an_error_that_names_it():
    wrong = Contact('{"id":"7","firstName":5,"email":null}')
    for name, attribute in [("firstName", "first_name"), ("lastName", "last_name"), ("email", "email")]:
        with pytest.raises(talentdata.SchemaError, match=f'Contact "7": {name}: it is'):
            getattr(wrong, attribute)
    assert wrong["firstName"] == 5


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("1.0", 1),
        ("1e2", 100),
        ("-0.0", 0),
        (f"{2**53 + 1}.0", 2**53 + 1),
        ("1.5", None),
        ("1e99", None),
        ('"1"', None),
    ],
)
def test_whole_numbers_are_integers_in_any_notation(written, read):
    pagination = talentdata.Pagination(f'{{"total":{written}}}')
    if read is None:
        with pytest.raises(talentdata.SchemaError, match="total: it is not a whole number"):
            pagination.total
    else:
        assert pagination.total == read and isinstance(pagination.total, int)
    assert f":{written}}}" in pagination.json


def test_a_page_without_a_valid_pagination_has_records(client, sandbox):
    body = '{"contacts":[{"id":"1","firstName":"A","lastName":"B","email":"c"}],"pagination":{"total":"7","hasMore":1}}'
    sandbox.set_faults(
        {"match": {"path": "/v1/contacts"}, "reply": {"body": body, "headers": {"content-type": "application/json"}}}
    )
    page = client.contacts.page()
    assert (len(page), page.pagination.total, page.pagination.has_more) == (1, 7, True)
    assert "offset" not in page.pagination and repr(page).startswith(
        "<Page of contacts: 1 records from offset ?, 7 in all: iterate"
    )
