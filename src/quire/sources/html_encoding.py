"""The encoding that a page states about itself, as browsers find it."""

import codecs
import re

_LOOKED_AT = 1024  # bytes; what stands later is too late for browsers too
_STATED = re.compile(rb"""(?:charset\s*=|<\?xml[^>]*\bencoding\s*=)\s*["']?\s*([\w.:-]+)""", re.I)
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Browsers read both as the larger Windows set; a page that says UTF-16 in ASCII bytes is not.
_READ_AS = {"iso8859-1": "cp1252", "ascii": "cp1252", "utf-16": "", "utf-8": ""}


def stated_encoding(raw: bytes) -> str:
    """The encoding that a meta tag or an XML declaration names; empty: none that changes things."""
    stated = _STATED.search(raw[:_LOOKED_AT])
    if stated is None or raw.startswith(_MARKS):
        return ""
    try:
        name = codecs.lookup(stated[1].decode("ascii", "replace")).name
    except LookupError:
        return ""
    return _READ_AS.get(name, name)
