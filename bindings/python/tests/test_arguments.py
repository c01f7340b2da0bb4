"""Wrong arguments: the error names the argument, its value and the solution. No request is sent, no file written."""

import datetime

import pyarrow
import pytest
from support import CANARY

import talentdata
import talentdata.spark

NOW, INT32 = datetime.datetime(2026, 1, 1), pyarrow.schema([("n", pyarrow.int32())])

SETTINGS = [
    ("client_secret", CANARY.encode(), "must be a string (got bytes)"),
    ("client_secret", [CANARY], "must be a string (got list)"),
    ("hash_key", (lambda: CANARY), "must be a string (got function)"),
    ("lists", {"contacts": {"drop": 5}}, "must be an object of lists"),
    ("timeout", CANARY, "must be a time between 0.001 and 86,400 s (got str)"),
    ("idle_timeout", float("nan"), "must be between 0.001 and 86,400 s (got NaN)"),
    ("max_attempts", 10**400, "must be a whole number between 1 and 20 (got int)"),
    ("max_attempts", 1.5, "must be a whole number between 1 and 20 (got 1.5)"),
    ("paced", "no", "must be true or false (got str)"),
]


@pytest.mark.parametrize("client_class", [talentdata.Client, talentdata.AsyncClient])
def test_settings_of_a_client(client_class):
    for name, value, says in SETTINGS:
        settings = {"base_url": "http://127.0.0.1:1", "client_secret": CANARY, name: value}
        with pytest.raises(talentdata.ConfigError) as caught:
            client_class(**settings)
        assert str(caught.value).startswith(f"{name} {says}") and "CANARY" not in str(caught.value)


@pytest.mark.parametrize("named", [talentdata.Client, talentdata.AsyncClient, talentdata.Sandbox])
def test_unknown_options(named):
    for arguments, options in (((CANARY,), {}), ((), {"timeuot": CANARY})):
        with pytest.raises(TypeError) as caught:
            named(*arguments, **options)
        said = str(caught.value)
        assert said.startswith(named.__name__) and "Base" not in said and "CANARY" not in said
        assert ("timeuot" in said) == ("timeuot" in options)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"records": {"contacts": -5}}, 'records: "-5" is not a whole number'),
        ({"records": ["contacts"]}, "records: must be numbers by name, LIST=N,... .got list."),
        ({"latency": "1"}, "latency: must be a time in seconds .got str."),
        ({"latency": -1}, 'latency: must be a time in seconds .got "-1"'),
        ({"faults": 1}, 'faults: must be true or false .got "1"'),
        ({"drift": {"speed": 1}}, "drift.*inserts"),
    ],
)
def test_options_of_a_sandbox(options, says):
    with pytest.raises(talentdata.InvalidArgumentError, match=says):
        talentdata.Sandbox(**options)


@pytest.mark.parametrize(
    ("says", "use"),
    [
        ("^limit: .*str", lambda client: client.contacts.page(limit="a")),
        ("^limit: .*float", lambda client: client.contacts.page(limit=1.5)),
        ("^offset: .*negative int", lambda client: client.contacts.page(offset=-1)),
        ("^offset: .*NoneType", lambda client: client.contacts.page(offset=None)),
        ("^page_size: .*str", lambda client: client.contacts.list(page_size="a")),
        ("^drop: must be names .*got dict", lambda client: client.contacts.list(drop={"email": 1})),
        ("^hash: must be names .*got bool", lambda client: client.contacts.list(hash=True)),
        ("columns", lambda client: client.contacts.list(columns="both")),
        ('^unproven: "never" is not one of fail, warn, accept', lambda client: client.contacts.list(unproven="never")),
        (
            '^unproven: "never" is not one of fail, warn',
            lambda client: talentdata.scan_polars("pools", client=client, unproven="never"),
        ),
        (
            '^unproven: "no" is not one',
            lambda client: talentdata.spark.DataSource({"resource": "pools", "unproven": "no"}).schema(),
        ),
        ("schema: this int cannot be used", lambda client: client.contacts.list(schema=5)),
        ("column n is of type Int32", lambda client: client.contacts.list(schema=INT32)),
        ("dtype_backend", lambda client: client.contacts.list().to_pandas(dtype_backend="arrow")),
        ("format", lambda client: client.contacts.export("a.csv", format="xlsx")),
        ("xlsx.* use the extension .jsonl, .csv, .parquet or .arrow", lambda client: client.contacts.export("a.xlsx")),
        ("written to a file, not to s3", lambda client: client.contacts.export("s3://bucket/a.parquet")),
        ("pools is not among", lambda client: client.export(["contacts"], "a", schema={"pools": INT32})),
        ("resources: give a list of names", lambda client: client.sync("pools", "a.db")),
        ("people", lambda client: client.sync(["people"], "a.db")),
        ("25% .InvalidArgument.$", lambda client: client.sync(["pools"], "a.db", max_deletes=1.5)),
        ("^keep: an age is a whole number with", lambda client: client.sync(["pools"], "a.db", keep=90)),
        ("found string, expected an array", lambda client: client.check_version("1.8.2", "taxonomy")),
        ("found integer, expected a string", lambda client: client.check_version(18, ["taxonomy"])),
        (
            "^resource: no list is named .people.; the lists are contacts",
            lambda client: talentdata.scan_polars("people", client=client),
        ),
        ("no list is named", lambda client: talentdata.spark.DataSource({"resource": "people"}).schema()),
        ("no such option", lambda client: talentdata.spark.DataSource({"resource": "pools", "part": 8}).schema()),
    ],
)
def test_arguments_of_a_verb(client, sandbox, tmp_path, monkeypatch, says, use):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(talentdata.InvalidArgumentError, match=says):
        use(client)
    with pytest.raises(TypeError, match="a set cannot be sent as JSON"):
        client.check_version("1.8.2", {"taxonomy"})
    assert sandbox.stats()["requests"] == 0 and not [*tmp_path.iterdir()]


def test_fault_rules(sandbox):
    for rule in ({"match": {}}, {"reply": {"statsu": 5}}):
        with pytest.raises(talentdata.InvalidArgumentError, match="the fault rules are wrong: .*(reply|status)"):
            sandbox.set_faults(rule)
    with talentdata.Sandbox() as other, pytest.raises(talentdata.InvalidArgumentError, match="started with faults"):
        other.set_faults()
