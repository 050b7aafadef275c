"""What full texts need of the Posts port."""

from builders import NOON, a_post, at
from wellspring.backlog import Backlog, Turn
from wellspring.model import FullText, PostKey

LINE = Backlog(
    version=1,
    writer="w",
    waiting={"c" * 64: Turn(), "b" * 64: Turn(at(1), 2)},
    queued={"a" * 64: Turn(NOON, 1)},
    next_at=at(2),
)


def stored(ports, **fields):
    post = a_post(**fields)
    assert ports.posts.put(post)
    return post


def read(ports, post):
    return ports.posts.read([post.key])[0]


def test_a_post_remembers_that_its_full_text_is_wanted(ports):
    post = stored(ports, full_text_status=FullText.WANTED, truncated=True)
    assert read(ports, post) == post


def test_a_full_text_is_stored_beside_the_body(ports):
    post = stored(ports, full_text_status=FullText.WANTED)
    assert ports.posts.put_article(post.key, FullText.OK, "The whole.")
    found = read(ports, post)
    assert (found.full_text_status, found.full_text, found.entry) == (FullText.OK, "The whole.", post.entry)


def test_what_is_there_is_not_overwritten(ports):
    post = stored(ports)
    assert ports.posts.put_article(post.key, FullText.FAILED, None)
    assert ports.posts.put_article(post.key, FullText.OK, "The whole.")
    assert not ports.posts.put_article(post.key, FullText.FAILED, None)
    assert read(ports, post).full_text == "The whole."


def test_a_post_that_is_gone_gets_no_text(ports):
    assert not ports.posts.put_article(PostKey("a", "d" * 64), FullText.OK, "The whole.")
    assert ports.posts.read([PostKey("a", "d" * 64)]) == []


def test_a_source_begins_with_an_empty_line(ports):
    assert ports.posts.backlog("a") == Backlog()


def test_a_line_is_kept_as_it_is(ports):
    assert ports.posts.put_backlog("a", LINE, over=0)
    assert ports.posts.backlog("a") == LINE
    assert ports.posts.backlog("b") == Backlog()


def test_of_two_that_move_a_line_on_one_is_refused(ports):
    assert ports.posts.put_backlog("a", LINE, over=0)
    assert not ports.posts.put_backlog("a", LINE, over=0)
    assert ports.posts.put_backlog("a", Backlog(version=2), over=1)
    assert not ports.posts.put_backlog("a", Backlog(version=2), over=1)
    assert ports.posts.backlog("a") == Backlog(version=2)


def test_the_line_is_no_post(ports):
    ports.posts.put_backlog("a", LINE, over=0)
    assert [page.refs for page in map(ports.posts.pending, range(4))] == [()] * 4
    assert ports.posts.hash_like("a", "wa") is None
