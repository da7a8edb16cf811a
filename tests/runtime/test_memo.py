from wf_mcp.runtime.memo import Memo
from wf_mcp.runtime.shelves import Shelf


class World:
    def __init__(self) -> None:
        self.changes = 0
        self.shelves = {"a": (Shelf((), (), frozenset()),)}
        self.looked = 0
        self.made = 0

    def look(self, key: str) -> tuple[Shelf, ...]:
        self.looked += 1
        return self.shelves[key]

    def make(self, shelves: tuple[Shelf, ...]) -> object:
        self.made += 1
        return object()

    def memo(self) -> Memo[str, object]:
        return Memo(lambda: self.changes, self.look, self.make)


def test_while_nothing_changed_no_shelf_is_looked_at() -> None:
    world = World()
    memo = world.memo()
    first = memo.get("a")
    assert memo.get("a") is first
    assert (world.looked, world.made) == (1, 1)


def test_a_change_elsewhere_is_looked_at_once_and_makes_nothing_anew() -> None:
    world = World()
    memo = world.memo()
    first = memo.get("a")
    world.changes += 1
    assert memo.get("a") is first and memo.get("a") is first
    assert (world.looked, world.made) == (2, 1)


def test_other_shelves_make_another_value() -> None:
    world = World()
    memo = world.memo()
    first = memo.get("a")
    world.changes += 1
    world.shelves["a"] = (Shelf((), (), frozenset()),)
    assert memo.get("a") is not first
    assert world.made == 2


def test_what_nobody_will_ask_for_again_is_let_go_and_the_rest_is_kept() -> None:
    world = World()
    world.shelves["b"] = world.shelves["a"]
    memo = world.memo()
    first = {key: memo.get(key) for key in ("a", "b")}
    memo.forget(lambda key: key == "a")
    assert memo.get("b") is first["b"]
    assert memo.get("a") is not first["a"]
