"""The stream of the Posts table, as moto plays it: what is stored from now on comes out, once, as posts."""

from builders import NOON, a_post, an_entry
from template import tables
from wellspring.aws import streams
from wellspring.aws.post_stream import new_posts
from wellspring.aws.posts import DynamoPosts
from wellspring.aws.streams import Stream
from wellspring.model import PostKey

TABLE = "Streamed"


def followed(aws):
    """Return the posts of a table with a stream, and that stream as it is followed from now on."""
    dynamodb = aws.client("dynamodb")
    dynamodb.create_table(
        TableName=TABLE,
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        **tables()["PostsTable"],
    )
    posts = DynamoPosts(dynamodb, TABLE, shards=4)
    posts.put(a_post(content_hash="old"))
    arn = streams.arn_of(dynamodb, TABLE)
    return posts, Stream(aws.client("dynamodbstreams"), arn, now=NOON)


def test_posts_come_out_as_they_were_stored_and_nothing_else_does(aws):
    posts, stream = followed(aws)
    made = [a_post(content_hash=name, entry=an_entry(title=f"Title {name}")) for name in ("ab", "cd")]
    for post in made:
        posts.put(post)
    posts.put(made[0])
    posts.mark_processed(PostKey("a", "old"), NOON)
    posts.put_window("a", {b"1": b"2"}, started_at=NOON)
    posts.erase("a")
    posts.put(a_post("b", "ef"))
    assert list(new_posts(stream.read())) == [*made, a_post("b", "ef")]
    assert list(new_posts(stream.read())) == []


def test_a_table_without_a_stream_has_none(aws):
    assert streams.arn_of(aws.client("dynamodb"), "PostsTable") is None
