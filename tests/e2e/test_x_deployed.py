"""An X timeline on the deployed stack: the owner's key from the Parameter Store, posts in the table."""

from datetime import timedelta

from builders import every
from deployed import eventually, now
from wellspring.aws import items

KEY = "canary-e2e-51d0%3Dkey"
HOUR = timedelta(hours=1)


def add_timeline(deployed, source_id, user, owner_id):
    url = f"https://x.com/{user.username}"
    later = now() + HOUR
    deployed.add(source_id, url, type="twitter", owner_id=owner_id, cadence=every(60), next_fetch_at=later)


def fetch(deployed, source_id, *, times=1):
    """Fetch by hand, and return the fetch log of it."""
    deployed.send(f'{{"source_id": "{source_id}", "manual": true}}')
    return eventually(lambda: len(logs := deployed.fetch_logs(source_id)) >= times and logs)[times - 1]


def test_a_timeline_is_read_with_the_key_of_its_owner(deployed, x):
    x.keys.add(KEY)
    deployed.stack.client("ssm").put_parameter(
        Name="/wellspring/owners/reader/x-api-key", Value=KEY, Type="SecureString"
    )
    person = x.add_user("e2e_person", "A person")
    x.page = 2
    for number in range(5):
        x.publish(person, f"Post {number} &amp; more", now() - timedelta(minutes=10 - number))
    add_timeline(deployed, "timeline", person, "reader")

    log = fetch(deployed, "timeline")
    assert (log["status"], log["http_status"], log["created"]) == ("ok", 200, 5)
    titles = {post["title"] for post in deployed.posts("timeline")}
    assert titles == {f"Post {number} & more" for number in range(5)}
    assert {asked.headers["authorization"] for asked in x.asked} == {f"Bearer {KEY}"}

    eventually(lambda: deployed.source("timeline").cursor.bookmark)
    x.forget()
    newest = x.publish(person, "The newest")
    log = fetch(deployed, "timeline", times=2)
    assert (log["status"], log["created"], log["entries"]) == ("ok", 1, 1)
    assert [asked.path for asked in x.asked] == [f"/2/users/{person.id}/tweets"], "the user is known"
    eventually(lambda: deployed.source("timeline").cursor.bookmark["since_id"] == newest)
    assert len(deployed.posts("timeline")) == 6

    tables = ("SourcesTable", "PostsTable", "FetchLogsTable", "GatesTable")
    rows = [deployed.dynamodb.scan(TableName=deployed.stack.outputs[name])["Items"] for name in tables]
    assert KEY not in str([[items.decode(row) for row in found] for found in rows])
    assert KEY not in str(deployed.lines("FetcherLogGroup"))


def test_a_timeline_whose_owner_has_no_key_fails_without_a_request(deployed, x):
    person = x.add_user("e2e_other")
    add_timeline(deployed, "without-key", person, "nobody")
    x.forget()
    log = fetch(deployed, "without-key")
    assert (log["status"], log["error_class"]) == ("failed", "authentication")
    assert "x-api-key" in log["error_message"]
    assert x.asked == []
    assert deployed.posts("without-key") == []
