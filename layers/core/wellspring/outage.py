"""Owns how our own outage is told from the publishers' failures. Pure."""

FEWEST_HOSTS = 4


def is_outage(*, down: int, hosts: int) -> bool:
    """Say whether most hosts of a planner window are down: then it is us.

    With only a few hosts, all of them may well be down by themselves.
    """
    return hosts >= FEWEST_HOSTS and down * 2 > hosts
