"""Owns which addresses may be connected to: public ones, and what the stack allows for development. Pure."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# Beyond what the standard library calls private or reserved: relays, translators, documentation.
_CLOSED_4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",
        "100.64.0.0/10",
        "192.0.0.0/24",
        "192.88.99.0/24",
        "198.18.0.0/15",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
_GLOBAL_6 = IPv6Network("2000::/3")
_CLOSED_6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # Teredo, benchmarking, ORCHID and other protocol assignments
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: an IPv4 address in disguise
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
        "5f00::/16",  # segment routing
    )
)


def read(text: str) -> Address | None:
    """Return the address that a resolver gave; one with a zone is no address to us."""
    try:
        return ip_address(text)
    except ValueError:
        return None


def is_open(address: Address, allowed: tuple[Network, ...] = ()) -> bool:
    """Say whether a connection to the address may be opened."""
    if any(address in network for network in allowed if network.version == address.version):
        return True
    if isinstance(address, IPv4Address):
        return address.is_global and not any(address in network for network in _CLOSED_4)
    # IPv4 in IPv6 clothes (mapped, compatible, translated) lies outside of the global range.
    return (
        address.scope_id is None
        and address in _GLOBAL_6
        and address.is_global
        and not any(address in network for network in _CLOSED_6)
    )
