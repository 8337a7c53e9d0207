"""Whom to believe is read once in a process, and again where somebody says that it is elsewhere."""

import ssl
from pathlib import Path

import pytest

from quire.providers.certificates import trusted_certificates


def test_all_connections_of_a_process_share_what_was_read_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    usual = trusted_certificates()

    assert usual.verify_mode == ssl.CERT_REQUIRED
    assert usual.check_hostname
    assert trusted_certificates() is usual

    nobody = tmp_path / "nobody.pem"
    nobody.write_text("")
    monkeypatch.setenv("SSL_CERT_FILE", str(nobody))
    elsewhere = trusted_certificates()

    assert elsewhere is not usual
    assert trusted_certificates() is elsewhere
