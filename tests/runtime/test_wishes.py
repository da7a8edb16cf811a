"""What the clients of one session asked for that lasts (matrix B.1 subscriptions and `logging/setLevel`, B.4)."""

import pytest

from wf_mcp.runtime.wishes import Wishes

URI = "demo://a"


def test_the_first_subscriber_and_the_last_concern_the_upstream() -> None:
    wishes = Wishes()
    assert [wishes.subscribe(URI, client) for client in ("one", "other", "one")] == [True, False, False]
    assert [wishes.unsubscribe(URI, client) for client in ("one", "one", "other", "other")] == [
        False,
        False,
        True,
        False,
    ]
    assert wishes.subscriptions == ()
    assert wishes.subscribe(URI, "one")


def test_nobody_unsubscribes_for_another() -> None:
    wishes = Wishes()
    wishes.subscribe(URI, "one")
    assert not wishes.unsubscribe(URI, "other")
    assert not wishes.unsubscribe("demo://b", "one")
    assert wishes.subscribers(URI) == ("one",)


def test_who_goes_leaves_behind_what_nobody_else_wants() -> None:
    wishes = Wishes()
    for uri, client in ((URI, "one"), ("demo://b", "one"), ("demo://b", "other"), ("demo://c", "one")):
        wishes.subscribe(uri, client)
    wishes.set_level("one", "debug")
    wishes.set_level("other", "error")
    assert wishes.forget("one") == (URI, "demo://c")
    assert wishes.subscriptions == ("demo://b",)
    assert wishes.level == "error"
    assert wishes.forget("one") == wishes.forget("never came") == ()


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (URI, ("exact",)),
        ("demo://a/b", ("exact",)),
        ("demo://a/b/c", ("exact", "deeper")),
        ("demo://ab", ()),
        ("demo://b", ()),
        ("demo://dir/x", ("slash",)),
        ("demo://dir/", ("slash",)),
        ("demo://dir", ()),
    ],
)
def test_a_change_concerns_the_subscribers_of_the_resource_and_of_those_above_it(
    changed: str, told: tuple[str, ...]
) -> None:
    wishes = Wishes()
    wishes.subscribe(URI, "exact")
    wishes.subscribe("demo://a/b/c", "deeper")
    wishes.subscribe("demo://dir/", "slash")
    assert set(wishes.subscribers(changed)) == set(told)


def test_who_is_subscribed_twice_over_is_told_once() -> None:
    wishes = Wishes()
    for uri in (URI, "demo://a/b", "demo://a/b/"):
        wishes.subscribe(uri, "one")
    assert wishes.subscribers("demo://a/b/c") == ("one",)


def test_the_upstream_is_asked_for_what_suits_everybody() -> None:
    wishes = Wishes()
    assert wishes.level is None
    for client, level, expected in (("one", "error", "error"), ("other", "info", "info"), ("other", "alert", "error")):
        wishes.set_level(client, level)
        assert (wishes.level, wishes.level_of(client)) == (expected, level)
    assert wishes.level_of("nobody") is None


def test_each_client_is_shown_what_it_asked_for() -> None:
    wishes = Wishes()
    wishes.set_level("one", "error")
    wishes.set_level("other", "info")
    clients = ("one", "other", "silent")
    assert wishes.showing(clients, "warning") == ("other", "silent")
    assert wishes.showing(clients, "critical") == clients
    assert wishes.showing(clients, "debug") == ("silent",)
    assert wishes.showing(clients, "x-level") == clients
    assert [wishes.shows(client, "warning") for client in clients] == [False, True, True]


def test_a_task_is_followed_by_those_who_named_it_and_the_first_and_last_concern_the_upstream() -> None:
    wishes = Wishes()
    assert [wishes.follow("t", client) for client in ("one", "other", "one")] == [True, False, False]
    assert (wishes.tasks, wishes.followers("t"), wishes.followers("u")) == (("t",), ("one", "other"), ())
    assert wishes.followers(None) == wishes.followers(["t"]) == ()
    assert [wishes.unfollow("t", client) for client in ("third", "one", "one", "other")] == [False, False, False, True]
    assert wishes.tasks == ()
