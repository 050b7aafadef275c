"""Fixtures that more than one kind of test needs."""

import boto3
import pytest
from moto import mock_aws

from command import Command
from publisher import Publisher
from template import tables


@pytest.fixture
def aws(monkeypatch):
    """DynamoDB with the stack's tables, and SQS, as moto plays them."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    with mock_aws():
        session = boto3.Session(region_name="us-east-1")
        dynamodb = session.client("dynamodb")
        for name, schema in tables().items():
            dynamodb.create_table(TableName=name, **schema)
        yield session


@pytest.fixture
def publisher():
    with Publisher() as running:
        yield running


@pytest.fixture
def typed(monkeypatch, capsys, tmp_path):
    """Type a command on a computer without a local cloud and without AWS settings."""
    return Command(monkeypatch, capsys, "--state-dir", str(tmp_path / "no-cloud"))
