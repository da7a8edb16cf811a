"""Public URIs and templates, and the way back (design D7; matrix C.5, F.3; field cases F22 to F26)."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mcp.shared.uri_template import UriTemplate

from wf_mcp.core.names import LABEL_MAX, label_clashes, label_of
from wf_mcp.core.uris import decode, is_web, template_to_public, to_public, to_upstream

LAB = "everything.default"

labels = st.text("abz9.-", min_size=1, max_size=12).map(label_of) | st.just("x" * LABEL_MAX)
schemes = st.sampled_from(["demo", "DEMO", "file", "ui", "a+b-c.d", "x9", "wf", "WF", "urn", "httpx", "resource"])
heads = st.sampled_from(
    [
        "",
        "/",
        "//",
        "host",
        "user:p%40ss@host:80",
        "[::1]:8080",
        "[fe80::1%25eth0]",
        "ümlaut.example",
        "{host}",
        "a.b",
        "?",
        "#",
    ]
)
tails = st.lists(
    st.sampled_from(
        [
            "/",
            "//",
            "x",
            "..",
            "%2F",
            "%zz",
            "?q=1&r=a%26b",
            "#part",
            "é😀",
            " ",
            "{+path}",
            "{?q*}",
            "{/seg*}",
            "://",
            "a/b",
            "\n",
        ]
    ),
    max_size=6,
).map("".join)
hierarchical = st.builds(lambda scheme, head, tail: f"{scheme}://{head}{tail}", schemes, heads, tails)
opaque = st.sampled_from(
    [
        "urn:isbn:1",
        "mailto:x@example.org",
        "tag:a,1:b",
        "data:,x",
        "users/me",
        "",
        "/x",
        "://",
        "{scheme}://h",
        "{+uri}",
        "1x://y",
    ]
)
plain = hierarchical | opaque | st.text(max_size=20)
nested = st.builds(to_public, labels, plain)
uris = (plain | nested | st.builds(to_public, labels, nested)).filter(lambda uri: not is_web(uri))


@pytest.mark.parametrize(
    ("uri", "public"),
    [
        ("demo://resource/static/x.md", "demo://everything/default/resource/static/x.md"),
        ("DEMO://Host", "DEMO://everything/default/Host"),
        ("file:///x/y", "file:///everything/default/x/y"),
        ("file:///", "file:///everything/default/"),
        ("file:////server/share", "file:///everything/default//server/share"),
        ("demo://", "demo:///everything/default"),
        ("demo://?q=1#f", "demo://everything/default/?q=1#f"),
        ("demo://u:p@[::1]:80/x", "demo://everything/default/u:p@[::1]:80/x"),
        ("demo://h/%2F%zz?a=%26&&b#é", "demo://everything/default/h/%2F%zz?a=%26&&b#é"),
        ("ui://app/main.html", "ui://everything/default/app/main.html"),
        ("skill://deep/path/SKILL.md", "skill://everything/default/deep/path/SKILL.md"),
        ("urn:isbn:0451450523", "wf://everything/default/urn:isbn:0451450523"),
        ("mailto:x@example.org", "wf://everything/default/mailto:x@example.org"),
        ("users/me", "wf://everything/default/users/me"),
        ("/abs", "wf://everything/default//abs"),
        ("", "wf://everything/default/"),
        ("http:opaque", "wf://everything/default/http:opaque"),
        ("a:b://c", "wf://everything/default/a:b://c"),
        ("my_srv://x", "wf://everything/default/my_srv://x"),
        ("wf://other/urn:x", "wf://everything/default/wf://other/urn:x"),
        ("Wf://x", "wf://everything/default/Wf://x"),
        ("demo://everything/default/x", "demo://everything/default/everything/default/x"),
    ],
)
def test_the_public_form_and_back(uri: str, public: str) -> None:
    assert to_public(LAB, uri) == public
    assert to_upstream(LAB, public) == uri
    assert decode(public, {"other", LAB}) == (LAB, uri)


@pytest.mark.parametrize("uri", ["http://h/x", "https://h", "HTTPS://H/x?q#f", "http://"])
def test_the_web_stays_as_it_is(uri: str) -> None:
    assert is_web(uri)
    assert to_public(LAB, uri) == template_to_public(LAB, uri) == to_upstream(LAB, uri) == uri
    assert decode(uri, {LAB, ""}) is None


@pytest.mark.parametrize(
    "uri", ["httpx://h", "http:x", "xhttp://h", "http", "httpſ://h", " http://h", "demo://http://h"]
)
def test_this_is_not_the_web(uri: str) -> None:
    assert not is_web(uri)


@pytest.mark.parametrize(
    ("template", "public"),
    [
        ("demo://resource/{id}", "demo://everything/default/resource/{id}"),
        ("data://{id}{?format,lang}", "data://everything/default/{id}{?format,lang}"),
        ("repo://{owner}/{path*}", "repo://everything/default/{owner}/{path*}"),
        ("file:///{+path}", "file:///everything/default/{+path}"),
        ("demo://{/seg*}", "demo://everything/default/{/seg*}"),
        ("{scheme}://host", "wf://everything/default/{scheme}://host"),
        ("{+uri}", "wf://everything/default/{+uri}"),
        ("demo:{+rest}", "wf://everything/default/demo:{+rest}"),
        ("http{s}://x", "wf://everything/default/http{s}://x"),
        ("https://{host}/x", "https://{host}/x"),
    ],
)
def test_the_public_form_of_a_template(template: str, public: str) -> None:
    assert template_to_public(LAB, template) == public


@pytest.mark.parametrize(
    "public",
    [
        "demo://other/x",
        "demo://everything/default",
        "demo://everything/defaultx/y",
        "demo://everything.default/x",
        "demo://EVERYTHING/default/x",
        "demo:///other/everything/default/x",
        "demo:////everything/default/x",
        "wf://everything/default",
        "wf:///everything/default/x",
        "urn:everything/default/x",
        "everything/default/x",
        "demo://",
        "",
    ],
)
def test_what_is_under_no_label_is_nobodys(public: str) -> None:
    assert to_upstream(LAB, public) is None
    assert decode(public, {LAB}) is None


def test_the_scheme_of_the_wrapper_may_come_back_in_any_case() -> None:
    assert to_upstream("a", "WF://a/urn:x") == "urn:x"


def test_a_bare_mount_keeps_its_uris_and_gets_what_no_label_claims() -> None:
    mounted = {"", "a"}
    assert to_public("", "demo://x") == to_upstream("", "demo://x") == template_to_public("", "demo://x") == "demo://x"
    assert decode("demo://b/x", mounted) == ("", "demo://b/x")
    assert decode("urn:x", mounted) == ("", "urn:x")
    assert decode("demo://a/x", mounted) == ("a", "demo://x")


def test_a_long_uri_is_searched_only_as_far_as_a_label_reaches() -> None:
    asked: list[object] = []

    class Labels(set[str]):
        def __contains__(self, label: object) -> bool:
            asked.append(label)
            return super().__contains__(label)

    assert decode("demo://" + "a/" * 1_000_000, Labels({"b"})) is None
    assert len(asked) <= LABEL_MAX


@given(labels, uris)
def test_decoding_is_the_inverse_of_encoding(label: str, uri: str) -> None:
    public = to_public(label, uri)
    assert to_upstream(label, public) == uri
    assert decode(public, [label]) == (label, uri)


@given(labels, hierarchical.filter(lambda uri: not uri.lower().startswith("wf:")))
def test_the_scheme_the_end_and_an_empty_authority_are_kept(label: str, uri: str) -> None:
    """Matrix C.5 rows 2, 3 and 6."""
    public = to_public(label, uri)
    scheme, _, rest = uri.partition("://")
    assert public.startswith(f"{scheme}://")
    assert public.endswith(rest)
    assert public.startswith(f"{scheme}:///") == (rest == "" or rest.startswith("/"))


@given(labels, labels, plain.filter(lambda uri: not is_web(uri)))
def test_an_upstream_may_itself_be_a_wf_mcp(outer: str, inner: str, uri: str) -> None:
    public = to_public(outer, to_public(inner, uri))
    found = decode(public, {outer})
    assert found is not None
    assert found[0] == outer
    assert decode(found[1], {inner}) == (inner, uri)


@given(labels, labels, uris, uris)
def test_two_labels_never_mix(one: str, other: str, ours: str, theirs: str) -> None:
    assume(not label_clashes({"one": one, "other": other}))
    public = to_public(one, ours)
    assert public != to_public(other, theirs)
    assert to_upstream(other, public) is None
    assert decode(public, {one, other}) == (one, ours)
    assert decode(public, {other}) is None


literals = st.sampled_from(
    ["demo://", "file:///", "demo:", "wf://", "urn:x:", "http", "://", "/", "a", "host/", "users/"]
)
expressions = st.sampled_from(
    ["{v0}", "{+v1}", "{/v2*}", "{?v3,v4}", "{#v5}", "{.v6}", "{;v7}", "{v8}", "{+v9}", "{/v10}"]
)
templates = st.lists(literals | expressions, min_size=1, max_size=6, unique=True).map("".join)
values = st.dictionaries(
    st.sampled_from([f"v{number}" for number in range(11)]),
    st.sampled_from(["", "/", "a/b", "demo", "wf", "http://h/x", "demo://x", "é &=%", "..", "file:///x"])
    | st.lists(st.sampled_from(["a", "b/c", ""]), max_size=3),
)


def expand(template: str, variables: dict[str, str | list[str]]) -> str:
    # One expression at a time: the SDK refuses whole templates that it could not match again, and RFC 6570 does not.
    return re.sub(r"\{[^}]*\}", lambda found: UriTemplate.parse(found[0]).expand(variables), template)


@given(labels, templates, values)
def test_what_a_public_template_expands_to_is_what_the_upstreams_own_would(
    label: str, template: str, variables: dict[str, str | list[str]]
) -> None:
    public = expand(template_to_public(label, template), variables)
    assert to_upstream(label, public) == expand(template, variables)


@given(labels, plain)
def test_every_expression_of_a_template_is_kept(label: str, template: str) -> None:
    public = template_to_public(label, template)
    assert public.count("{") == template.count("{")
    assert public.endswith(template.partition("://")[2])
