"""Owners' keys in the Parameter Store as moto plays it: written for the fetchers, never read back."""

import pytest

from wellspring.aws.owner_keys import SsmOwnerKeys
from wellspring.aws.secrets import SsmSecrets

CANARY = "canary-77b1%3Dkey"
PATH = "/wellspring/owners"


@pytest.fixture
def ssm(aws):
    return aws.client("ssm")


@pytest.fixture
def keys(ssm):
    return SsmOwnerKeys(ssm, PATH)


def test_a_fetcher_reads_what_was_set_last(keys, ssm):
    secrets = SsmSecrets(lambda: ssm, PATH)
    assert secrets.x_api_key("me") is None
    assert keys.put("me", "first"), "it is new"
    assert not keys.put("me", CANARY), "it replaces one"
    assert secrets.x_api_key("me") == CANARY
    assert keys.remove("me")
    assert not keys.remove("me")
    assert secrets.x_api_key("me") is None


def test_a_key_is_stored_encrypted(keys, ssm):
    keys.put("me", CANARY)
    stored = ssm.get_parameter(Name=f"{PATH}/me/x-api-key")["Parameter"]
    assert stored["Type"] == "SecureString"
    assert stored["Value"] != CANARY


def test_owners_are_listed_page_by_page_without_their_keys(keys, ssm):
    owners = [f"owner-{number:03}" for number in range(120)]
    for owner in owners:
        keys.put(owner, CANARY)
    others = ["/wellspring/owners/x/other", "/wellspring/owners/a/b/x-api-key/c", "/prod/owners/me/x-api-key"]
    for name in others:
        ssm.put_parameter(Name=name, Value=CANARY, Type="SecureString")
    found = list(keys.every())
    assert sorted(key.owner_id for key in found) == owners
    assert CANARY not in str(found)
    assert all(key.set_at.tzinfo for key in found)
