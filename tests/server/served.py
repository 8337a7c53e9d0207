"""A server for tests in this process, with a worker, on a port of the system's choosing."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from quire.engine import open_engine
from quire.server.site import Site
from tests.server.site_apps import ready_site_app


@contextmanager
def serve(place: str) -> Iterator[str]:
    """A server in a thread, with a worker, and its address."""
    site = Site(lambda workspace: open_engine(place, workspace=workspace, environment={}))
    server = uvicorn.Server(uvicorn.Config(ready_site_app(site), port=0, log_level="warning"))
    begun = threading.Event()
    startup = server.startup

    async def tell_startup(sockets: object = None) -> None:
        await startup(sockets)  # type: ignore[arg-type]
        begun.set()

    server.startup = tell_startup  # type: ignore[method-assign]
    thread = threading.Thread(target=server.run)
    worker_engine = open_engine(place, environment={})
    worker = threading.Thread(target=worker_engine.work)
    thread.start()
    begun.wait()
    worker.start()
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        worker_engine.stop()
        worker.join()
        worker_engine.close()
        server.should_exit = True
        thread.join()
