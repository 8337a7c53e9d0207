"""Sites for tests: an app on a ledger in a folder, and a client that asks it in process."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastapi.testclient import TestClient

from quire.engine import open_engine
from quire.server.site import Site, SiteSettings
from quire.web.site_app import make_site_app

OWN_HOST = "http://localhost"


@contextmanager
def open_site(folder: Path, settings: SiteSettings | None = None) -> Iterator[TestClient]:
    """A client of a site on a ledger in a folder."""
    place = str(folder / "quire.db")
    site = Site(
        lambda workspace: open_engine(place, workspace=workspace, environment={}),
        settings or SiteSettings(),
    )
    with TestClient(make_site_app(site), base_url=OWN_HOST) as client:
        yield client
