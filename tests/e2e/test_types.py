"""Pages and full texts on the deployed stack."""

import json
from datetime import timedelta

from builders import every, rss
from deployed import eventually, now
from publisher import Page

HOUR = timedelta(hours=1)
HTML = {"Content-Type": "text/html; charset=utf-8"}


def article(text, head=""):
    body = f"<nav>Home</nav><article><h1>News</h1><p>{text * 12}</p></article><footer>Imprint</footer>"
    return Page(
        f"<html><head><title>News</title>{head}</head><body>{body}</body></html>".encode(), headers=HTML
    )


def fetch(deployed, source_id):
    deployed.send(json.dumps({"source_id": source_id, "manual": True}))


def polls(deployed, source_id, count):
    return eventually(lambda: len(logs := deployed.fetch_logs(source_id)) >= count and logs)


def test_a_page_is_stored_once_and_again_when_its_text_changes(deployed, publisher):
    publisher.pages["/robots.txt"] = Page(b"User-agent: *\nDisallow: /private\n")
    publisher.pages["/page"] = article("The first text. ", '<meta name="author" content="Ada">')
    deployed.add(
        "page-news", publisher.url("/page"), type="website", cadence=every(60), next_fetch_at=now() + HOUR
    )
    fetch(deployed, "page-news")
    (first,) = polls(deployed, "page-news", 1)
    assert (first["status"], first["created"]) == ("ok", 1)
    (post,) = deployed.posts("page-news")
    assert (post["title"], post["author"]) == ("News", "Ada")
    assert post["body"].startswith("The first text.") and "Imprint" not in post["body"]

    publisher.pages["/page"] = article("The second text. ", '<meta name="author" content="Ada">')
    eventually(lambda: deployed.source("page-news").lease.token is None)
    fetch(deployed, "page-news")
    second = polls(deployed, "page-news", 2)[1]
    assert (second["status"], second["updated"]) == ("ok", 1)
    assert len(deployed.posts("page-news")) == 2
    assert publisher.paths().count("/robots.txt") >= 1, "the site was asked first"


def test_a_page_that_robots_may_not_have_is_not_asked_for(deployed, publisher):
    publisher.pages["/robots.txt"] = Page(b"User-agent: *\nDisallow: /private\n")
    deployed.add(
        "page-private",
        publisher.url("/private"),
        type="website",
        cadence=every(60),
        next_fetch_at=now() + HOUR,
    )
    fetch(deployed, "page-private")
    (log,) = polls(deployed, "page-private", 1)
    assert (log["status"], log["error_class"]) == ("failed", "robots")
    assert set(publisher.paths()) == {"/robots.txt"}


def test_new_posts_get_their_full_text_through_the_same_queue(deployed, publisher):
    feed = rss(1, 2).replace(b"https://example.org", publisher.url("").encode())
    publisher.pages["/feed"] = Page(feed)
    publisher.pages["/1"] = article("The whole of the first. ")
    publisher.pages["/2"] = Page(status=404)
    deployed.add(
        "whole", publisher.url("/feed"), full_text=True, cadence=every(60), next_fetch_at=now() + HOUR
    )
    fetch(deployed, "whole")
    posts = eventually(
        lambda: (
            len(found := deployed.posts("whole")) == 2
            and all(post["full_text_status"] != "wanted" for post in found)
            and found
        )
    )
    texts = {post["url"][-2:]: (post["full_text_status"], post.get("full_text", "")[:18]) for post in posts}
    assert texts == {"/1": ("ok", "The whole of the f"), "/2": ("failed", "")}
    logs = polls(deployed, "whole", 3)
    assert sorted(log.get("content_hash", "") for log in logs) == sorted(
        ["", *(p["content_hash"] for p in posts)]
    )
    assert deployed.source("whole").health.failures == 0
