"""Searching a vendor's list of batches, page by page: a list that never ends proves nothing."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from quire.domain.batches import Found, Sought
from quire.domain.data import Json
from quire.providers.batching import reference

MOST_PAGES = 500
SKEW = timedelta(minutes=10)  # by which the vendor's clock and ours may differ, unless it says so


class Search:
    """One search through a vendor's listing: what was found, and why that is not certain."""

    def __init__(self, vendor: str, sought: Sought, most: int = MOST_PAGES) -> None:
        """Begin before the first page."""
        self._vendor = vendor
        self._sought = sought
        self._most = most
        self._seen: set[str] = set()  # pages, by what leads to them
        self._found = Found()
        self.oldest = sought.since - SKEW  # by the vendor's clock

    def date(self, said: str) -> None:
        """Learn the vendor's time when it was asked; where its clock is behind, look further back.

        Never less far: a date may be wrong, and whoever asked may have waited for the answer.
        """
        asked, since = self._sought.asked_at, self._sought.since
        if asked is None:
            return
        try:
            behind = asked - parsedate_to_datetime(said[:60])
        except (ValueError, TypeError, IndexError, OverflowError):  # no date, or without a zone
            return
        try:
            self.oldest = min(self.oldest, since - behind - SKEW)
        except OverflowError:
            self.oldest = datetime.min.replace(tzinfo=UTC)

    def is_recent(self, made: Json) -> bool:
        """Whether a batch that was made then, as the vendor writes it, may be the one sought."""
        try:
            return datetime.fromisoformat(made if isinstance(made, str) else "") >= self.oldest
        except (ValueError, TypeError, OverflowError):  # no date, or none with a zone: it may be
            return True

    def see(self, name: Json, ref: Json, *, ours: bool = False) -> None:
        """Look at one batch of a page: by our name on it, or `ours` for another reason."""
        ours = ours or name == self._sought.nonce
        if not ours and not (isinstance(name, str) and name in self._sought.retired):
            return
        known = reference(ref)
        if not known:
            self.doubt("has a batch of ours without its own name")
        elif known in self._sought.known:
            return
        elif not ours:
            earlier = dict.fromkeys((*self._found.earlier, known))
            self._found = self._found._replace(earlier=tuple(earlier))
        elif not self._found.ref:
            self._found = self._found._replace(ref=known)

    @property
    def over(self) -> bool:
        """Whether all that can be there was found."""
        return bool(self._found.ref) and not self._sought.retired

    def turn(self, page: str) -> bool:
        """Go on to a page, by what the vendor calls it; false where that leads nowhere.

        A page that comes again would come again for ever.
        """
        if not page:
            self.doubt("cannot be read to its end")
        elif page in self._seen:
            self.doubt(f"goes round in circles: page {len(self._seen) + 2} is an old one")
        elif len(self._seen) + 1 >= self._most:
            self.doubt(f"does not end: {self._most} pages were read")
        else:
            self._seen.add(page)
            return True
        return False

    def doubt(self, why: str) -> None:
        """Say why what is not in the list may be there all the same."""
        if not self._found.unsure:
            unsure = f"{self._vendor}'s list of batches {why}"
            self._found = self._found._replace(unsure=unsure)

    def unreadable(self) -> Found:
        """A page that is no list is not the same as an empty one."""
        self.doubt("comes in a form that cannot be read")
        return self.found

    @property
    def found(self) -> Found:
        """What was found; where it is the one that was sought, no doubt is left."""
        return self._found._replace(unsure="") if self._found.ref else self._found
