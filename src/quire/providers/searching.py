"""Searching a vendor's list of batches, page by page: a list that never ends proves nothing."""

from quire.domain.batches import Found

MOST_PAGES = 500


class Search:
    """One search through a vendor's listing: which pages were seen, and why it is not certain."""

    def __init__(self, vendor: str, most: int = MOST_PAGES) -> None:
        """Begin before the first page."""
        self._vendor = vendor
        self._most = most
        self._seen: set[str] = set()  # pages, by what leads to them

    def turn(self, page: str) -> str:
        """Go on to a page, by what the vendor calls it; returns why not, where that leads nowhere.

        A page that comes again would come again for ever.
        """
        if not page:
            return self._unsure("cannot be read to its end")
        if page in self._seen:
            return self._unsure(f"goes round in circles: page {len(self._seen) + 2} is an old one")
        if len(self._seen) + 1 >= self._most:
            return self._unsure(f"does not end: {self._most} pages were read")
        self._seen.add(page)
        return ""

    def _unsure(self, why: str) -> str:
        return f"{self._vendor}'s list of batches {why}"

    def unreadable(self) -> Found:
        """A page that is no list is not the same as an empty one."""
        return Found(unsure=self._unsure("comes in a form that cannot be read"))
