"""How a source is shown."""

import pytest

from builders import a_source


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://example.org/feed?token=secret", "https://example.org/feed?..."),
        ("https://user:secret@example.org/feed", "https://example.org/feed"),
        ("https://user:secret/5@example.org/feed", "(unreadable url)"),
        ("https://mastodon.example/@user.rss", "https://mastodon.example/@user.rss"),
        ("https://[broken", "(unreadable url)"),
        ("", ""),
    ],
)
def test_a_url_is_shown_without_its_secrets(url, shown):
    assert a_source(url=url).shown_url == shown


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Example.org/feed", "example.org"),
        ("http://example.org:80/feed", "example.org"),
        ("http://example.org:8080/feed", "example.org:8080"),
        ("https://example.org:99999/", ""),
        ("nonsense", ""),
    ],
)
def test_the_host_is_the_server_that_is_asked(url, host):
    assert a_source(url=url).host == host
