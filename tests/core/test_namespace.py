"""One upstream's names and URIs as one value (design D6, D7)."""

from hypothesis import given
from hypothesis import strategies as st

from wf_mcp.core.names import label_of
from wf_mcp.core.namespace import Namespace


def test_a_namespace_maps_names_uris_and_templates() -> None:
    namespace = Namespace("Everything.default", "everything.default")
    assert namespace.public_name("echo") == "everything.default.echo"
    assert namespace.public_uri("demo://x") == "demo://everything/default/x"
    assert namespace.public_template("demo://{id}") == "demo://everything/default/{id}"
    assert namespace.local_uri("demo://everything/default/x") == "demo://x"
    assert namespace.local_uri("demo://other/x") is None


def test_a_bare_namespace_leaves_all_as_it_is() -> None:
    namespace = Namespace("id", "")
    assert namespace.public_name("echo") == "echo"
    assert namespace.public_uri("demo://x") == namespace.public_template("demo://x") == "demo://x"
    assert namespace.local_uri("demo://x") == "demo://x"


def test_a_namespace_is_a_value_that_can_be_a_key() -> None:
    namespace = Namespace("a", "a")
    assert namespace == Namespace("a", "a")
    assert {namespace: 1}[Namespace("a", "a")] == 1


@given(st.text(max_size=20), st.text(max_size=30) | st.from_regex(r"[a-z]+://[^{}]*", fullmatch=True))
def test_every_public_uri_leads_back(connection_id: str, uri: str) -> None:
    namespace = Namespace(connection_id, label_of(connection_id))
    assert namespace.local_uri(namespace.public_uri(uri)) == uri
