"""Model names: as vendors and people write them, and the known name that is meant.

Vendors date their models (`claude-sonnet-4-5-20250929`), people leave out the vendor, write dots
for dashes, or put the words in another order. What follows from such a name is looked up under the
known one; a date stays in the name, because it is sent as it was written.
"""

import re
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

from quire.providers.vendors import vendor_facts

_DATE = re.compile(r"-20\d\d(-?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])$")
_LATEST = re.compile("-latest$", re.IGNORECASE)
_BREAKS = re.compile(r"[-._\s]+")


class DatedName(NamedTuple):
    """A name taken apart."""

    family: str  # the name without its date
    date: str  # with its dash; "" = there is none


class Spelling(NamedTuple):
    """What two names have in common that mean the same model of a vendor."""

    words: tuple[str, ...]  # sorted: claude-4-5-sonnet is claude-sonnet-4-5
    numbers: tuple[str, ...]  # in their order: 4-5 is not 5-4


def split_date(name: str) -> DatedName:
    """Take the date off the end of a name, as OpenAI or as Anthropic writes it."""
    found = _DATE.search(name)
    at = found.start() if found else len(name)
    return DatedName(name[:at], name[at:])


@lru_cache(4096)  # the catalog is looked through for each name that is read
def spelling(model: str) -> Spelling:
    """How a model is called, whatever the case and the marks between the parts of its name."""
    parts = [part for part in _BREAKS.split(model.lower()) if part]
    words = sorted(part for part in parts if not part.isdigit())
    return Spelling(tuple(words), tuple(part for part in parts if part.isdigit()))


def full_name(name: str, known: Collection[str]) -> str | None:
    """The one known name that is meant, with the date that was written; None where none is.

    The newest of a family is the family: vendors that have no such name take the family's.
    """
    written = name.strip()
    family, date = split_date(_LATEST.sub("", written))
    for called, suffix in ((written, ""), (family, date)):
        meant = _names_alike(called, known)
        if len(meant) == 1:
            return meant[0] + suffix
    return None


def likely_vendor(model: str, known: Collection[str]) -> str:
    """The only vendor whose models begin with the same word; "" where it is not one."""
    first = _BREAKS.split(model.lower())[0]
    rests = (text.partition("/") for text in known)
    vendors = {vendor for vendor, _, rest in rests if _BREAKS.split(rest)[0] == first}
    return vendors.pop() if len(vendors) == 1 else ""


def _names_alike(name: str, known: Collection[str]) -> list[str]:
    vendor, slash, model = name.partition("/") if "/" in name else ("", "", name)
    vendor, wanted = vendor.lower(), spelling(model)
    row = vendor_facts(vendor)
    house = vendor if row.statement_needed else row.same_models_as or vendor
    alike = [text.partition("/") for text in known if spelling(text.partition("/")[2]) == wanted]
    if not slash:  # what stands in for models is not meant by a name as short as "small"
        return ["".join(parts) for parts in alike if not vendor_facts(parts[0]).keyless]
    return [f"{vendor}/{rest}" for other, _, rest in alike if other in (vendor, house)]
