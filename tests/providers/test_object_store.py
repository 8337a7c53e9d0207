"""Files in Cloud Storage and in a folder: the same files by the same addresses."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from quire.domain.errors import ProviderError, Remedy
from quire.providers.object_store import (
    CloudStorage,
    ObjectAddress,
    ObjectStore,
    parse_uri,
)
from tests.providers.batch_servers import Answer, Answers, Asked, BatchServer, failure_of, run
from tests.providers.exchanges.google import error
from tests.providers.folder_store import FolderStore
from tests.providers.sample_calls import KEY, account

BUCKET = "/storage/v1/b/own-bucket/o"
UPLOAD = "/upload/storage/v1/b/own-bucket/o"


class Bucket:
    """Cloud Storage as far as it is needed, with pages of one file."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.files: dict[str, bytes] = {}

    def answers(self) -> Answers:
        """What to say where."""
        names = ("a/b.jsonl", "a/c.jsonl", "d.jsonl", "a/none.jsonl")
        return {
            f"POST {UPLOAD}": self._put,
            f"GET {BUCKET}": self._list,
            **{f"GET {BUCKET}/{name}": self._get for name in names},
            **{f"DELETE {BUCKET}/{name}": self._delete for name in names},
        }

    def _put(self, asked: Asked) -> Answer:
        assert asked.query["uploadType"] == "media"
        self.files[asked.query["name"]] = asked.body
        return Answer({"name": asked.query["name"]})

    def _list(self, asked: Asked) -> Answer:
        names = sorted(name for name in self.files if name.startswith(asked.query["prefix"]))
        start = int(asked.query.get("pageToken", "0"))
        page = {"items": [{"name": name} for name in names[start : start + 1]]}
        more = {"nextPageToken": str(start + 1)} if start + 1 < len(names) else {}
        return Answer({**(page if names else {}), **more})

    def _get(self, asked: Asked) -> Answer:
        found = self.files.get(asked.path.removeprefix(f"{BUCKET}/"))
        assert asked.query["alt"] == "media"
        return Answer(error(404, "notFound"), 404) if found is None else Answer(found)

    def _delete(self, asked: Asked) -> Answer:
        found = self.files.pop(asked.path.removeprefix(f"{BUCKET}/"), None)
        return Answer(error(404, "notFound"), 404) if found is None else Answer(b"", 204)


def batch_server(answers: Answers) -> BatchServer:
    return BatchServer(answers, lambda base: account("vertex", storage=base))


async def through(store: ObjectStore, path: Path) -> None:
    """Bring files, list them, read them, delete them."""
    for name in ("a/b.jsonl", "a/c.jsonl", "d.jsonl"):
        await store.put(path, f"gs://own-bucket/{name}")

    listed = await store.names("gs://own-bucket/a/")
    read = [line async for line in store.lines("gs://own-bucket/a/c.jsonl")]
    await store.delete("gs://own-bucket/a/b.jsonl")
    await store.delete("gs://own-bucket/a/b.jsonl")

    assert listed == ["gs://own-bucket/a/b.jsonl", "gs://own-bucket/a/c.jsonl"]
    assert read == [b'{"n":1}', b'{"n":2}']
    assert await store.names("gs://own-bucket/a/") == ["gs://own-bucket/a/c.jsonl"]
    assert await store.names("gs://own-bucket/z") == []
    with pytest.raises(ProviderError):
        [line async for line in store.lines("gs://own-bucket/a/none.jsonl")]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "some.jsonl"
    path.write_bytes(b'{"n":1}\n\n{"n":2}')
    return path


def test_files_are_kept_in_cloud_storage(written: Path) -> None:
    there = batch_server(Bucket().answers())

    run(there, lambda on: through(CloudStorage(on.http, on.account), written))

    assert {call.headers["Authorization"] for call in there.asked} == {f"Bearer {KEY}"}
    assert there.asked[0].body == written.read_bytes()


def test_files_are_kept_in_a_folder(written: Path, tmp_path: Path) -> None:
    asyncio.run(through(FolderStore(tmp_path / "store"), written))

    assert (tmp_path / "store" / "own-bucket" / "d.jsonl").read_bytes() == written.read_bytes()


@pytest.mark.parametrize("uri", ["", "own-bucket/a", "gs://", "gs://A b/c", "gs://abc/../../x"])
def test_what_is_no_address_is_not_taken_for_one(uri: str) -> None:
    with pytest.raises(ProviderError, match="no address in Cloud Storage"):
        parse_uri(uri)
    assert parse_uri("gs://own-bucket") == ObjectAddress("own-bucket", "")


Work = Callable[[ObjectStore, Path], object]


@pytest.mark.parametrize(
    ("answer", "remedy"),
    [
        (Answer(error(404, "notFound"), 404), Remedy.FIX_ACCOUNT),
        (Answer(error(403, "forbidden"), 403), Remedy.FIX_ACCOUNT),
        (Answer(error(503, "backendError"), 503), Remedy.WAIT),
        (Answer(status=0), Remedy.RETRY),
    ],
)
def test_what_fails_is_classified(written: Path, answer: Answer, remedy: Remedy) -> None:
    there = batch_server({f"POST {UPLOAD}": answer, f"GET {BUCKET}": answer})

    async def put(on: BatchServer) -> None:
        await CloudStorage(on.http, on.account).put(written, "gs://own-bucket/x")

    async def names(on: BatchServer) -> None:
        await CloudStorage(on.http, on.account).names("gs://own-bucket/x")

    assert failure_of(there, put).remedy is remedy
    assert failure_of(there, names).remedy is remedy


def test_a_list_without_an_end_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quire.providers.object_store.MOST_PAGES", 3)
    there = batch_server({f"GET {BUCKET}": Answer({"nextPageToken": "again"})})

    async def names(on: BatchServer) -> None:
        await CloudStorage(on.http, on.account).names("gs://own-bucket/x")

    assert failure_of(there, names).remedy is Remedy.RETRY
