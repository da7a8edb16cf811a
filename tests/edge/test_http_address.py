"""An address is shown without what may be a secret in it."""

import pytest

from wf_mcp.edge.http_address import address


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://host/mcp", "http://host/mcp"),
        ("https://user:pass@host:8443/mcp?key=s3cr3t#part", "https://host:8443/mcp"),
        ("http://[::1]:80/", "http://[::1]:80/"),
        ("http://HOST", "http://host"),
    ],
)
def test_credentials_and_query_are_left_out(url: str, shown: str) -> None:
    assert address(url) == shown
