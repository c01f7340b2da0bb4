"""Wrong arguments: the error names the argument, what it is and the way out, and nothing is sent."""

import inspect

import pytest

import talentdata

#: Never to be shown.
SECRET = "CANARY-1234"

OPTIONS = [
    ("base_url", 5, "int", "string"),
    ("client_id", b"id", "bytes", "string"),
    ("client_secret", SECRET.encode(), "bytes", "string"),
    ("client_secret", [SECRET], "list", "string"),
    ("profile", 5, "int", "string"),
    ("timeout", "5", "str", "a time in seconds"),
    ("attempt_timeout", [5], "list", "a time in seconds"),
    ("max_wait", "soon", "str", "a time in seconds"),
    ("max_attempts", "x", "str", "a whole number from 1 to 20"),
    ("max_attempts", 2**70, "int", "a whole number from 1 to 20"),
    ("max_attempts", 1.5, "float", "a whole number from 1 to 20"),
    ("share", "half", "str", "a number above 0"),
    ("paced", "no", "str", "True or False"),
]


@pytest.mark.parametrize("client_class", [talentdata.Client, talentdata.AsyncClient])
@pytest.mark.parametrize(("name", "value", "is_a", "way_out"), OPTIONS)
def test_options_of_a_client(client_class, name, value, is_a, way_out):
    settings = {"base_url": "http://127.0.0.1:1", "client_secret": SECRET, name: value}
    with pytest.raises(talentdata.ConfigError) as caught:
        client_class(**settings)
    said = str(caught.value)
    assert said.startswith(f"{name}: ") and is_a in said and way_out in said
    assert "CANARY" not in said


@pytest.mark.parametrize(
    ("options", "name", "is_a", "way_out"),
    [
        ({"records": {"contacts": "5"}}, 'records["contacts"]', "str", "a whole number from 0"),
        ({"records": {"contacts": -5}}, 'records["contacts"]', "int", "a whole number from 0"),
        ({"records": {5: 5}}, "records", "int", "sizes by list"),
        ({"records": 5}, "records", "int", "sizes by list"),
        ({"records": ["contacts"]}, "records", "list", "sizes by list"),
        ({"records": {"contact": 5}}, "contact", "", "contacts"),
        ({"seed": "x"}, "seed", "str", "a whole number from 0"),
        ({"policy": 5}, "policy", "int", "a policy's name"),
        ({"policy": "nosuch"}, "policy", "", "clock-window"),
        ({"latency": "1"}, "latency", "str", "a time in seconds"),
        ({"latency": -1}, "latency", "", "a number from 0"),
        ({"port": 65536}, "port", "int", "65535"),
        ({"faults": 1}, "faults", "int", "True or False"),
        ({"order": 5}, "order", "int", "an order's name"),
        ({"order": "sorted"}, "order", "", "updated-desc"),
        ({"ids": "some"}, "ids", "", "volatile"),
        ({"total": "one"}, "total", "", "unknown"),
        ({"drift": {"speed": 1}}, "drift", "", "inserts"),
        ({"drift": {"inserts": -1}}, 'drift["inserts"]', "int", "a whole number from 0"),
        ({"replicas": {"lag_percent": 101}}, "replicas", "", "100"),
        ({"replicas": 2}, "replicas", "int", "a dict of numbers"),
        ({"warnings": 1}, "warnings", "int", "True or False"),
    ],
)
def test_options_of_a_sandbox(options, name, is_a, way_out):
    with pytest.raises(talentdata.InvalidArgumentError) as caught:
        talentdata.Sandbox(**options)
    said = str(caught.value)
    assert name in said and is_a in said and way_out in said


@pytest.mark.parametrize("named", [talentdata.Client, talentdata.AsyncClient, talentdata.Sandbox])
def test_options_that_there_are_not(named):
    for wrong in ({"arguments": (SECRET,)}, {"options": {"timeuot": SECRET}}):
        with pytest.raises(TypeError) as caught:
            named(*wrong.get("arguments", ()), **wrong.get("options", {}))
        said = str(caught.value)
        assert said.startswith(f"{named.__name__}()") and "Base" not in said and "CANARY" not in said
        assert ("timeuot" in said) == ("options" in wrong)
        # What is offered is what the signature shows.
        shown = [name for name in inspect.signature(named).parameters if not name.startswith("_")]
        offered = said.rpartition(" are ")[2].split(", ")
        assert sorted(offered) == sorted(shown)


def test_a_list_that_there_is_not(client, sandbox):
    for one, name in ((client, "Client"), (sandbox.async_client(), "AsyncClient")):
        with pytest.raises(AttributeError, match=f"'{name}' object has no attribute 'contact'; its lists are contacts, vacancies"):
            one.contact


@pytest.mark.parametrize(
    ("use", "name", "is_a"),
    [
        (lambda contacts: contacts.page(limit="a"), "limit", "str"),
        (lambda contacts: contacts.page(limit=1.5), "limit", "float"),
        (lambda contacts: contacts.page(offset=-1), "offset", "int"),
        (lambda contacts: contacts.page(offset=None), "offset", "NoneType"),
        (lambda contacts: next(contacts.pages(limit="a")), "limit", "str"),
        (lambda contacts: contacts.list(page_size="a"), "page_size", "str"),
    ],
)
def test_arguments_of_a_list(client, sandbox, use, name, is_a):
    with pytest.raises(talentdata.InvalidArgumentError, match=f"^{name}: this {is_a} cannot be used; give a whole number"):
        use(client.contacts)
    assert sandbox.stats()["requests"] == 0


def test_rules_of_misbehaviour(sandbox):
    for rule in ({"match": {}}, {"reply": {"statsu": 5}}):
        with pytest.raises(talentdata.InvalidArgumentError, match="the rules are wrong: .*(reply|status)"):
            sandbox.misbehave(rule)
    with talentdata.Sandbox() as other, pytest.raises(talentdata.InvalidArgumentError, match="without faults"):
        other.misbehave()
    other.close()
    with pytest.raises(talentdata.ClosedError):
        other.misbehave()
