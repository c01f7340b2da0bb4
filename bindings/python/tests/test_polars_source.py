"""Lists as lazy frames of polars."""

import polars
import pytest

import talentdata


def test_a_query_reads_the_list_each_time_and_only_what_it_uses():
    with talentdata.Sandbox(records={"contacts": 1500}, policy="unlimited") as sandbox, sandbox.client() as client:
        contacts = talentdata.scan_polars("contacts", client=client)
        whole = client.contacts.list().to_polars()
        assert contacts.collect_schema() == whole.schema
        assert contacts.collect().equals(whole)
        chosen = contacts.filter(polars.col("firstName") == "Ada").select("lastName", "email")
        assert chosen.collect().equals(whole.filter(polars.col("firstName") == "Ada").select("lastName", "email"))
        assert contacts.select(polars.len()).collect().item() == 1500
        # A head reads no more pages than it needs.
        requests = sandbox.stats()["requests_by_path"]["/v1/contacts"]
        assert contacts.head(7).collect().height == 7
        assert sandbox.stats()["requests_by_path"]["/v1/contacts"] - requests <= 2
        sandbox.change("contacts", delete=500)
        assert contacts.select(polars.len()).collect().item() == 1000


def test_what_is_not_proven_is_an_error_unless_it_is_accepted():
    order = {"order": "random"}
    with talentdata.Sandbox(records={"pools": 200}, policy="unlimited", **order) as sandbox, sandbox.client() as client:
        with pytest.raises(talentdata.IncompleteError, match="not proven"):
            talentdata.scan_polars("pools", client=client).collect()
        assert talentdata.scan_polars("pools", client=client, unproven="accept").collect().height > 0
