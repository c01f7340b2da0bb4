"""Awkward records: every byte is there through Python objects, and every digit and escape through Arrow."""

import json
import random

import pytest
from rebuild import fields, records

import talentdata

pyarrow = pytest.importorskip("pyarrow", reason="told by the test of absent packages")

NUMBERS = [
    "0", "-0", "7", "-9223372036854775808", "9223372036854775807", "18446744073709551615", "18446744073709551616",
    "123456789012345678901234567890", "1.0", "1.50", "0.1", "-0.0", "1e2", "1E+2", "1e400", "-1e-400", "0.30000000000000004",
    "0.10000000000000000001", "1e22",
]
TEXTS = [
    '""', '"plain"', '"L\\u00f6w"', '"Löw"', '"\\ud83d\\ude00"', '"😀"', '"\\ud800"', '"\\u0000"', '"a\\/b"', '"a/b"',
    '"\\"quoted\\" \\\\ \\n"', '"null"', '"1.0"', '"{}"',
]
NAMES = ['"a"', '"b"', '"\\u0061"', '"firstName"', '"ключ"', '"with space"', '""', '"a.b"', '"n\\n"']


def value(draw, depth=0):
    """The text of some JSON value."""
    kind = draw.randrange(8 if depth < 3 else 5)
    if kind < 2:
        return draw.choice(NUMBERS)
    if kind < 4:
        return draw.choice(TEXTS)
    if kind == 4:
        return draw.choice(["null", "true", "false"])
    if kind == 5:
        return "[" + draw.choice([",", " , "]).join(value(draw, depth + 1) for _ in range(draw.randrange(4))) + "]"
    return record(draw, value(draw, depth + 1), depth + 1)


def record(draw, first, depth=0):
    """The text of an object; names may come twice, and white space where JSON allows it."""
    colon = draw.choice([":", " : ", ":\t"])
    members = [f'"id"{colon}{first}'] + [draw.choice(NAMES) + colon + value(draw, depth) for _ in range(draw.randrange(6))]
    return "{" + draw.choice([",", " ,\n "]).join(members) + "}"


@pytest.fixture(params=range(5))
def texts(request, faults):
    """Records as the service sends them, other ones for each seed."""
    draw = random.Random(request.param)
    texts = [record(draw, f'"{index}"') for index in range(80)]
    pagination = {"total": len(texts), "limit": len(texts), "offset": 0, "hasMore": False}
    body = '{"rows":[' + ",".join(texts) + '],"pagination":' + json.dumps(pagination) + "}"
    faults({"match": {"path": "/v1/pools"}, "reply": {"body": body}})
    return texts


def test_objects_hold_every_byte(client, texts):
    records = list(client.pools.list())
    assert [one.json for one in records] == texts
    for one, text in zip(records, texts, strict=True):
        # Of a name that occurs twice the last counts, there as here.
        read = json.loads(text)
        assert one.to_dict() == read and list(one) == list(read)
        assert all(one[name] == value for name, value in read.items())
        assert repr(one.to_dict()) == repr(read)


@pytest.mark.parametrize("columns", ["typed", "json"])
def test_columns_hold_every_value(client, texts, columns):
    table = client.pools.list(columns=columns).to_arrow()
    assert list(records(table)) == [fields(text) for text in texts]
