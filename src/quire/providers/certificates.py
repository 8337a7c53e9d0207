"""Certificates: whom this machine believes, read once for all connections of a process."""

import os
import ssl
from functools import cache

_PLACES = ("SSL_CERT_FILE", "SSL_CERT_DIR")  # where OpenSSL looks, if they say something


def trusted_certificates() -> ssl.SSLContext:
    """What a connection checks a server's certificate with; for all who ask it is the same one."""
    return _read_certificates(*map(os.environ.get, _PLACES))


@cache
def _read_certificates(*places: str | None) -> ssl.SSLContext:
    """Read them, which takes as long as ten calls."""
    return ssl.create_default_context()
