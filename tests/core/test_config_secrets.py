"""Which strings of a configuration are secret (design D13, field case F85)."""

import base64

import pytest

from wf_mcp.core.config_secrets import transport_secrets, variable_secret
from wf_mcp.core.config_values import HttpTransport, SseTransport, StdioTransport


def of_args(*args: str) -> set[str]:
    return set(transport_secrets(StdioTransport("x", args)))


@pytest.mark.parametrize(
    ("args", "secrets"),
    [
        (["-e", "TOKEN=s3cret"], {"s3cret"}),
        (["--api-key=s3cret"], {"s3cret"}),
        (["--api-key", "s3cret"], {"s3cret"}),
        (["GITHUB_PERSONAL_ACCESS_TOKEN=s3cret"], {"s3cret"}),
        (["my.client-secret.v2=a=b"], {"a=b"}),
        (["--password", "--verbose"], set()),
        (["--header", "Authorization: Bearer s3cret"], {"Bearer s3cret", "s3cret"}),
        (["--header", "X-Api-Key:s3cret"], {"s3cret"}),
        (["postgres://me:s3cret@h/db"], {"me:s3cret", "me", "s3cret", base64.b64encode(b"me:s3cret").decode()}),
        (["see https://h/?api_key=s3cret&page=4"], {"s3cret"}),
        (["-y", "@scope/token-server", "--port=80", "https://h/x?page=4"], set()),
    ],
)
def test_arguments_that_look_like_credentials(args, secrets):
    assert of_args(*args) - {""} == secrets


def test_environment_values_but_for_what_every_process_has():
    env = {"KEY": "s3cret", "A": "1", "PATH": "/usr/bin", "HOME": "/home/me", "LC_ALL": "C.UTF-8"}
    assert set(transport_secrets(StdioTransport("x", env=env))) == {"s3cret"}
    assert variable_secret("KEY", "s3cret")
    assert not variable_secret("KEY", "abc")
    assert not variable_secret("XDG_STATE_HOME", "/somewhere")


@pytest.mark.parametrize("kind", [HttpTransport, SseTransport])
def test_headers_and_what_stands_behind_their_scheme(kind):
    pair = base64.b64encode(b"me:s3cret").decode()
    headers = {"Authorization": f"Basic {pair}", "X-Key": "k3y", "Content-Type": "application/json"}
    assert set(transport_secrets(kind("http://h/", headers))) - {""} == {
        f"Basic {pair}",
        pair,
        "me:s3cret",
        "s3cret",
        "k3y",
    }
    assert "s3cret" in set(transport_secrets(kind("http://h/", {"Authorization": "bearer  s3cret"})))


@pytest.mark.parametrize("value", ["Basic ???", "Basic /w=="])
def test_a_basic_header_that_holds_no_pair_is_still_secret(value):
    assert set(transport_secrets(HttpTransport("http://h/", {"A": value}))) - {""} == {value, value[6:]}


def test_user_password_and_every_query_value_of_a_url_as_written_and_decoded():
    found = set(transport_secrets(HttpTransport("https://me:p%40ss@h/x?key=a%20b&flag&q=z+z#f")))
    assert found >= {"me:p%40ss", "me", "p%40ss", "p@ss", "a%20b", "a b", "z+z", "z z"}
    assert base64.b64encode(b"me:p@ss").decode() in found


def test_a_malformed_url_has_none():
    assert set(transport_secrets(HttpTransport("http://[::1/?key=x"))) == set()
