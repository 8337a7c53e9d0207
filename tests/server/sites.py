"""Sites for tests: an app on a ledger in a folder, and a client that asks it in process."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastapi.testclient import TestClient

from quire.domain.data import Json
from quire.engine import open_engine
from quire.server.site import Site, SiteSettings
from tests.server.site_apps import ready_site_app

OWN_HOST = "http://localhost"


SCHEMA: dict[str, Json] = {
    "title": "clause",
    "type": "object",
    "properties": {"party": {"type": "string"}, "amount": {"type": "integer"}},
    "required": ["party", "amount"],
}
TEXT = "".join(
    f"Clause {number}: party {number} pays {number} dollars.\n\n" for number in range(12)
)


def upload(client: TestClient, name: str = "lease.md", text: str = TEXT) -> int:
    """The number of a document that a client brings in."""
    answer = client.post("/v1/documents", files={"files": (name, text.encode())})
    assert answer.status_code == 201, answer.text
    number: int = answer.json()["documents"][0]["id"]
    return number


def start_run(client: TestClient, **how: object) -> int:
    """The number of a run of the schema about everything."""
    order = {"schema": SCHEMA, "model": "simulated/small", **how}
    answer = client.post("/v1/runs", json=order)
    assert answer.status_code == 201, answer.text
    number: int = answer.json()["run"]
    return number


def work(client: TestClient, run: int) -> None:
    """Carry a run out."""
    site: Site = client.app.state.site  # type: ignore[attr-defined]
    site.engine(site.settings.workspace).get(run).wait()


@contextmanager
def open_site(
    folder: Path, settings: SiteSettings | None = None, place: str | None = None
) -> Iterator[TestClient]:
    """A client of a site on a ledger in a folder, or elsewhere."""
    place = place or str(folder / "quire.db")
    site = Site(
        lambda workspace: open_engine(place, workspace=workspace, environment={}),
        settings or SiteSettings(),
    )
    with TestClient(ready_site_app(site), base_url=OWN_HOST) as client:
        yield client
