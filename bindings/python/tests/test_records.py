"""Records: attributes, wire names, exact numbers, equality, pickling."""

import copy
import decimal
import json
import pickle
from collections.abc import Mapping

import pytest
from support import wire

import talentdata
from talentdata import Contact, Record

TEXT = (
    '{"id":"7","firstName":"Ada","lastName":"L\\u00f6w","email":"a@example.com","big":123456789012345678901234567890,'
    '"negative":-9223372036854775809,"digits":0.10000000000000000001,"huge":1E400,"zero":-0,"nested":{"deep":[1,null,true,"x"]},'
    '"e\\u0073c":"\\"q\\"","none":null}'
)


def test_documented_fields_are_attributes_and_all_fields_have_their_wire_names():
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


def test_extra_holds_what_the_document_does_not_show():
    contact = Contact(TEXT)
    assert list(contact.extra) == ["big", "negative", "digits", "huge", "zero", "nested", "esc", "none"]
    assert Record(TEXT).extra == Record(TEXT).to_dict()


def test_values_are_those_of_the_json_library():
    assert Contact(TEXT).to_dict() == json.loads(TEXT)
    assert list(Contact(TEXT)) == list(json.loads(TEXT))


def test_integers_are_exact_and_the_text_of_decimals_is_at_hand():
    contact = Contact(TEXT)
    assert contact["big"] == 123456789012345678901234567890
    assert contact["negative"] == -9223372036854775809
    assert isinstance(contact["digits"], float) and contact["digits"] == 0.1
    exact = json.loads(contact.json, parse_float=decimal.Decimal)
    assert exact["digits"] == decimal.Decimal("0.10000000000000000001")
    assert contact.json == TEXT


def test_an_integer_of_any_length_is_exact():
    digits = "9" * 9001
    assert Record(f'{{"n":-{digits}}}')["n"] == -(10**9001) + 1


def test_half_a_surrogate_pair_is_kept():
    text = '{"a":"\\ud800x","\\udc00":1}'
    assert Record(text).to_dict() == json.loads(text)
    assert Record(text)["\udc00"] == 1


def test_of_a_name_that_occurs_twice_the_last_counts_everywhere(client, faults):
    text = '{"id":"a","firstName":"A","lastName":"B","email":"c","x":1,"id":"b","\\u0078":{"y":1,"y":2}}'
    record = Contact(text)
    assert record["id"] == record.id == record.get("id") == "b"
    assert record["x"] == record.extra["x"] == {"y": 2}
    assert record.to_dict() == json.loads(text) and list(record) == list(json.loads(text)) and len(record) == 5
    assert record == Contact('{"id":"b","firstName":"A","lastName":"B","email":"c","x":{"y":2}}')
    records = [text, text.replace('"b"', '"d"')]
    pagination = '{"total":2,"limit":2,"offset":0,"hasMore":false}'
    body = f'{{"success":true,"contacts":[{",".join(records)}],"pagination":{pagination}}}'
    faults({"match": {"path": "/v1/contacts"}, "reply": {"body": body, "headers": {"content-type": "application/json"}}})
    # They are told apart by the last id, too, and columns hold it.
    scan = client.contacts.list()
    assert [contact.id for contact in scan] == ["b", "d"] and scan.receipt.completeness == "proven"
    assert client.contacts.list().to_arrow()["id"].to_pylist() == ["b", "d"]


def test_nesting_is_bounded():
    deep = Record('{"a":' + "[" * 100 + "]" * 100 + "}")
    assert deep.to_dict() == json.loads(deep.json)
    with pytest.raises(talentdata.InvalidArgumentError, match="127 levels"):
        Record('{"a":' + "[" * 100_000 + "]" * 100_000 + "}")


@pytest.mark.parametrize("text", ["", "[]", "1", "{", '{"a":1}x', "{'a':1}", '{"a":01}'])
def test_only_json_objects_are_records(text):
    with pytest.raises(talentdata.InvalidArgumentError, match="JSON object"):
        Record(text)


def test_a_missing_or_wrong_field_is_an_error_that_names_it():
    wrong = Contact('{"id":"7","firstName":5,"email":null}')
    for name, attribute in [("firstName", "first_name"), ("lastName", "last_name"), ("email", "email")]:
        with pytest.raises(talentdata.SchemaError, match=f'Contact "7": {name}: it is'):
            getattr(wrong, attribute)
    assert wrong["firstName"] == 5


def test_equality_copies_and_pickles():
    contact = Contact(TEXT)
    assert contact == Contact(TEXT) == Contact(TEXT.replace(":", " : "))
    assert Contact('{"id":"7","a":1}') == Contact('{"a":1,"id":"7"}')
    assert contact != Record(TEXT) and contact != json.loads(TEXT) and contact != Contact('{"id":"8"}')
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        back = pickle.loads(pickle.dumps(contact, protocol))
        assert back == contact and type(back) is Contact and back.json == TEXT
    assert copy.copy(contact) == copy.deepcopy(contact) == contact
    with pytest.raises(TypeError, match="unhashable"):
        hash(contact)
    with pytest.raises(AttributeError):
        contact.first_name = "Eve"


def test_repr_shows_data_and_ends():
    assert repr(Contact('{"id":"7"}')) == "Contact({'id': '7'})"
    assert len(repr(Record(json.dumps({"note": "é" * 5000})))) < 500


def test_a_record_is_a_mapping():
    record = Record('{"a":1,"b":[2]}')
    assert isinstance(record, Mapping)
    assert dict(record) == {"a": 1, "b": [2]} == dict(record.items())
    assert (record.keys(), record.values()) == (["a", "b"], [1, [2]])
    assert {**record} == record.to_dict()


def test_records_hold_what_came_byte_for_byte(client, sandbox):
    text = wire(sandbox, "/v1/ja/tasks?limit=100&offset=0")
    records = list(client.ja_tasks.list())
    assert len(records) == 230
    for record in records[:100]:
        assert record.json in text
    assert all(record["id"] == json.loads(record.json)["id"] > 2**53 for record in records)


def test_models_have_the_documented_fields_as_descriptors():
    assert Contact.first_name.name == "firstName" and Contact.first_name.required
    assert not talentdata.CategoryEntry.model_version.required


def test_open_enums_are_strings():
    status = talentdata.ApiStatus("degraded")
    assert status == "degraded" and status.is_known and {status: 1}["degraded"] == 1
    assert not talentdata.ApiStatus("new").is_known
    assert repr(status) == "ApiStatus('degraded')"
    assert pickle.loads(pickle.dumps(status)) == status
    assert json.dumps(status) == '"degraded"'
