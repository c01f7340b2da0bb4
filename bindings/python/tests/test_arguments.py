"""Wrong arguments: the error names the argument, what it is and the way out, and nothing is sent."""

import pytest

import talentdata

#: Never to be shown.
SECRET = "CANARY-1234"

OPTIONS = [
    ("client_secret", SECRET.encode(), "must be a string (got bytes)"),
    ("client_secret", [SECRET], "must be a string (got list)"),
    ("timeout", SECRET, "must be a time between 0.001 and 86,400 s (got str)"),
    ("idle_timeout", float("nan"), "must be between 0.001 and 86,400 s (got NaN)"),
    ("max_attempts", 10**400, "must be a whole number between 1 and 20 (got int)"),
    ("max_attempts", 1.5, "must be a whole number between 1 and 20 (got 1.5)"),
    ("paced", "no", "must be true or false (got str)"),
]


@pytest.mark.parametrize("client_class", [talentdata.Client, talentdata.AsyncClient])
@pytest.mark.parametrize(("name", "value", "says"), OPTIONS)
def test_options_of_a_client(client_class, name, value, says):
    settings = {"base_url": "http://127.0.0.1:1", "client_secret": SECRET, name: value}
    with pytest.raises(talentdata.ConfigError) as caught:
        client_class(**settings)
    assert str(caught.value).startswith(f"{name} {says}") and "CANARY" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"records": {"contacts": -5}}, "records: can't convert negative"),
        ({"records": ["contacts"]}, "records: 'list' object"),
        ({"records": {"contact": 5}}, "no list `contact`.*contacts"),
        ({"policy": "nosuch"}, "policy.*clock-window"),
        ({"latency": "1"}, "latency: must be real number, not str"),
        ({"latency": -1}, "latency: -1 s: .*negative"),
        ({"port": 65536}, "port: out of range"),
        ({"faults": 1}, "faults: 'int' object"),
        ({"order": "sorted"}, "order.*updated-desc"),
        ({"drift": {"speed": 1}}, "drift.*inserts"),
        ({"replicas": {"lag_percent": 101}}, "replicas.*100"),
    ],
)
def test_options_of_a_sandbox(options, says):
    with pytest.raises(talentdata.InvalidArgumentError, match=says):
        talentdata.Sandbox(**options)


@pytest.mark.parametrize("named", [talentdata.Client, talentdata.AsyncClient, talentdata.Sandbox])
def test_options_that_there_are_not(named):
    for arguments, options in (((SECRET,), {}), ((), {"timeuot": SECRET})):
        with pytest.raises(TypeError) as caught:
            named(*arguments, **options)
        said = str(caught.value)
        assert said.startswith(named.__name__) and "Base" not in said and "CANARY" not in said
        assert ("timeuot" in said) == ("timeuot" in options)


@pytest.mark.parametrize(
    ("use", "name", "is_a"),
    [
        (lambda contacts: contacts.page(limit="a"), "limit", "str"),
        (lambda contacts: contacts.page(limit=1.5), "limit", "float"),
        (lambda contacts: contacts.page(offset=-1), "offset", "negative int"),
        (lambda contacts: contacts.page(offset=None), "offset", "NoneType"),
        (lambda contacts: contacts.list(page_size="a"), "page_size", "str"),
    ],
)
def test_arguments_of_a_list(client, sandbox, use, name, is_a):
    with pytest.raises(talentdata.InvalidArgumentError, match=f"^{name}: .*{is_a}"):
        use(client.contacts)
    assert sandbox.stats()["requests"] == 0


def test_fault_rules(sandbox):
    for rule in ({"match": {}}, {"reply": {"statsu": 5}}):
        with pytest.raises(talentdata.InvalidArgumentError, match="the fault rules are wrong: .*(reply|status)"):
            sandbox.set_faults(rule)
    with talentdata.Sandbox() as other, pytest.raises(talentdata.InvalidArgumentError, match="started with faults"):
        other.set_faults()
    other.close()
    with pytest.raises(talentdata.ClosedError):
        other.set_faults()
