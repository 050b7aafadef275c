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
