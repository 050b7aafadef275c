"""Reads the deployed template, so that tests use its very tables."""

from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


class _Loader(yaml.SafeLoader):
    """Reads a template; what its functions would give does not matter here."""


_Loader.add_multi_constructor("!", lambda loader, suffix, node: None)


def template():
    return yaml.load((ROOT / "template.yaml").read_text(), _Loader)


def resources():
    return template()["Resources"]


def tables():
    """Return the key schemas of the very tables that are deployed."""
    wanted = ("AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes", "BillingMode")
    return {
        name: {key: value for key, value in resource["Properties"].items() if key in wanted}
        for name, resource in resources().items()
        if resource["Type"] == "AWS::DynamoDB::Table"
    }
