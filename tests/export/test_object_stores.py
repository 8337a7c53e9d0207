"""Exports to an object store: a real server that speaks S3 takes them whole, or not at all."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import urlopen

import pandas
import pytest

from quire import read_export
from quire.domain.errors import UsageError
from quire.export.export_targets import open_store
from tests.world import World, sentences

Worlds = Callable[..., World]

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the server's own


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    from moto.server import ThreadedMotoServer  # takes long: whoever runs no test here goes without

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    files, _ = open_store("s3://exports/")
    files.clear_instance_cache()
    files, _ = open_store("s3://exports/")
    urlopen(f"http://{host}:{port}/moto-api/reset", data=b"").close()
    files.mkdir("exports")
    yield "s3://exports"
    server.stop()
    files.clear_instance_cache()


def test_every_format_reaches_the_store_and_is_not_sent_again_unchanged(
    world: Worlds, store: str
) -> None:
    here = world()
    here.ingest(sentences(5))
    run = here.run()

    for ending in ("jsonl", "csv", "parquet", "xlsx"):
        path = f"{store}/deep/out.{ending}"
        reports = [here.engine.export(run.id, path) for _ in range(2)]
        assert [(report.rows, report.changed) for report in reports] == [(5, True), (5, False)]
    reports = [here.engine.export(run.id, f"{store}/all/") for _ in range(2)]
    assert [(report.rows, report.changed) for report in reports] == [(5, True), (5, False)]
    assert len(read_export(f"{store}/all/")["attempts"]) == run.progress().calls
    for ending in ("csv", "parquet", "xlsx"):
        frame = read_export(f"{store}/deep/out.{ending}")
        pandas.testing.assert_frame_equal(frame, run.to_pandas())


def test_an_export_that_breaks_off_leaves_what_was_there(
    world: Worlds, store: str, tmp_path: Path
) -> None:
    here = world()
    here.ingest(sentences(2))
    run = here.run()
    run.export(f"{store}/out.csv")
    before = read_export(f"{store}/out.csv")

    with pytest.raises(UsageError, match="has no stage"):
        run.export(f"{store}/out.csv", stage="nope")

    pandas.testing.assert_frame_equal(read_export(f"{store}/out.csv"), before)


def test_a_store_that_refuses_or_a_package_that_is_missing_is_told_in_a_line(
    world: Worlds, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = world()
    here.ingest(sentences(1))
    run = here.run()

    with pytest.raises(UsageError, match=r"s3://nowhere/out\.csv: cannot be .* AWS_ACCESS_KEY_ID"):
        run.export("s3://nowhere/out.csv")
    with pytest.raises(UsageError, match="Protocol not known: nosuch"):
        run.export("nosuch://place/out.csv")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(UsageError, match=r"s3:// needs a package.*; pip install 'quire\[s3\]'"):
        run.export("s3://exports/out.csv")


def test_an_address_that_names_no_place_is_refused_and_nothing_is_written(
    world: Worlds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = world()
    here.ingest(sentences(1))
    run = here.run()
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")

    for address in ("s3://", "s3:///", "gs://bucket", "memory://"):
        with pytest.raises(UsageError, match="does not say where in the store"):
            run.export(address)

    assert not list(Path().iterdir())
