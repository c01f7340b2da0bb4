"""Exceptions: a class per kind, with what is known of the call, through processes."""

import pickle

import pytest

import talentdata


def test_every_kind_has_a_class_under_one_base():
    names = [name for name in talentdata.__all__ if name.endswith("Error") and name != "Error"]
    assert len(names) == 26
    for name in names:
        cls = getattr(talentdata, name)
        assert issubclass(cls, talentdata.Error) and issubclass(cls, Exception)
        assert cls.kind + "Error" == name and cls.__module__ == "talentdata"


def test_an_error_tells_what_is_known(client, faults):
    reply = {"status": 429, "headers": {"retry-after": "120", "x-request-id": "r-9"}, "body": {"error": "slow down"}}
    faults({"match": {"path": "/v1/version"}, "reply": reply})
    with pytest.raises(talentdata.RateLimitedError) as caught:
        client.version()
    error = caught.value
    assert (error.kind, error.status, error.retry_after, error.request_id) == ("RateLimited", 429, 120.0, "r-9")
    assert error.attempts == 1 and error.operation == "getVersion" and "slow down" in error.body
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error) and str(back) == str(error) and back.__dict__ == error.__dict__


def test_a_connection_that_breaks(client, faults):
    faults({"match": {"path": "/v1/version"}, "reply": {"close_after_read": True, "how": "rst"}})
    with pytest.raises(talentdata.TransportError):
        client.with_options(max_attempts=1).version()


def test_deadlines(client, faults):
    faults({"match": {"path": "/v1/version"}, "reply": {"delay_ms": 30_000}})
    with pytest.raises(talentdata.TimeoutError):
        client.with_options(timeout=0.1).version()
