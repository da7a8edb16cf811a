"""Exceptions and statuses as trouble; most of them are seen through the channel (`test_http_channel.py`)."""

import ssl
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import aiohttp
from aiohttp.client_reqrep import ConnectionKey

from wf_mcp.core.trouble import Trouble
from wf_mcp.edge.http_trouble import retry_after, trouble_of

KEY = ConnectionKey("x.test", 443, True, True, None, None, None)


def test_a_certificate_that_is_not_accepted_is_told_in_words() -> None:
    refused = ssl.SSLCertVerificationError(1, "self-signed certificate")
    found = trouble_of(aiohttp.ClientConnectorCertificateError(KEY, refused), "https://x.test/mcp", started=False)
    assert found == Trouble("tls", found.message)
    assert found.message.startswith("https://x.test/mcp cannot be reached: its certificate is not accepted: ")
    assert "self-signed certificate" in found.message


def test_a_url_in_an_exception_is_not_repeated() -> None:
    found = trouble_of(aiohttp.InvalidUrlClientError("http://x.test/?key=s3cr3t"), "http://x.test/", started=False)
    assert "s3cr3t" not in found.message


def test_when_to_come_back_is_a_number_or_a_date() -> None:
    assert retry_after(None) is None
    assert retry_after(" 12 ") == 12.0
    assert retry_after("soon") is None
    later = retry_after(format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True))
    assert later is not None and 50 < later <= 60
    assert retry_after("Mon, 01 Jan 2001 00:00:00 GMT") == 0.0
