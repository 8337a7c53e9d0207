"""A real browser for tests of pages: Debian's Chromium, and sites that it looks at.

The one without windows of its own comes first: it shows pages alike, for a third of the CPU.
`QUIRE_TEST_CHROMIUM=/path` names another Chromium. `python -m tests.web.browser` makes sure that
there is one, and says which. A test asks for the fixtures `page` and `serve`, which are in
`tests/web/conftest.py`.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fcntl import LOCK_EX, flock
from pathlib import Path
from socket import create_server

import uvicorn
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from quire.engine import Engine, open_engine
from quire.server.site import Site, SiteSettings
from tests.cpu_time import count_tree
from tests.server.site_apps import ready_site_app
from tests.time_limits import wait_until

ENVIRONMENT = "QUIRE_TEST_CHROMIUM"
PACKAGES = ("chromium-headless-shell", "chromium")  # of Debian, the first that there is
NAMES = (*PACKAGES, "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--no-first-run", "--no-default-browser-check", "--hide-scrollbars", "--mute-audio"),
    *("--disable-extensions", "--disable-default-apps", "--remote-debugging-port=0"),
)
RULES = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
SHARED = Path("/tmp")
PICTURES = (
    "QUIRE_TEST_PICTURES"  # a folder; without it nobody looks at pictures, and none are taken
)
AXE = Axe()
# To look for contrast at every text takes three quarters of a check, and most texts are rows that
# look alike. Of those that stand in the same elements with the same colours and type, the first is
# enough; where pictures are taken, every one is looked at.
EACH_LOOK_ONCE = """() => {
  const rule = axe._audit.getRule("color-contrast"), matches = rule.matches;
  const said = ["color", "backgroundColor", "backgroundImage", "opacity", "filter", "textShadow",
    "fontSize", "fontWeight", "position", "display", "visibility"];
  let numbers, known, seen;
  const look = (element) => {
    if (!element) return 0;
    if (!known.has(element)) {
      const style = getComputedStyle(element);
      const words = [look(element.parentElement), element.localName, element.getAttribute("class"),
        element.type, element.disabled, ...said.map((name) => style[name])].join("|");
      if (!numbers.has(words)) numbers.set(words, numbers.size + 1);
      known.set(element, numbers.get(words));
    }
    return known.get(element);
  };
  rule.matches = function (element, ...more) {
    const number = look(element);
    if (seen.has(number) || !matches.call(this, element, ...more)) return false;
    return Boolean(seen.add(number));
  };
  const run = axe.run;
  axe.run = (...how) => {
    [numbers, known, seen] = [new Map(), new Map(), new Set()];
    return run(...how);
  };
}"""


class ChromiumMissing(Exception):
    """There is no Chromium to look at pages with, and none could be installed."""


def ensure_chromium() -> Path:
    """Find Chromium; as root on Debian, install it where there is none."""
    found = find_chromium()
    if found:
        return found
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise ChromiumMissing(
            "The tests of the pages need Chromium, and none was found. Either install it (Debian: "
            f"`sudo apt-get install chromium`) or set {ENVIRONMENT} to the program of one."
        )
    with (SHARED / "quire-chromium-install.lock").open("w") as lock:
        flock(lock, LOCK_EX)  # test processes start together; one installs, the others find
        return find_chromium() or _install()


def find_chromium() -> Path | None:
    """The Chromium that the environment names, or the first one on PATH."""
    named = os.environ.get(ENVIRONMENT)
    found = named or next(filter(None, map(shutil.which, NAMES)), None)
    return Path(found) if found else None


def _install() -> Path:
    sys.stderr.write("No Chromium here: installing it with apt-get.\n")
    _apt("update", "-qq")
    why = [_apt("install", "-y", "-qq", "--no-install-recommends", PACKAGES[0])]
    if why[0]:
        why.append(_apt("install", "-y", "-qq", "--no-install-recommends", PACKAGES[1]))
    found = find_chromium()
    if not found:
        raise ChromiumMissing("apt-get installed no chromium:\n" + "\n".join(why))
    return found


def _apt(*words: str) -> str:
    """Why it could not be done, or nothing."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "-o", "DPkg::Lock::Timeout=300", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    last = "\n".join((done.stdout + done.stderr).splitlines()[-5:])
    return f"`{' '.join(command)}` failed:\n{last}" if done.returncode else ""


@contextmanager
def run_chromium() -> Iterator[str]:
    """Run a Chromium, and lend the address by which it is steered."""
    folder = Path(tempfile.mkdtemp(prefix="quire-chromium-"))
    command = [str(ensure_chromium()), *QUIET, f"--user-data-dir={folder}", "about:blank"]
    environment = {**os.environ, "HOME": str(folder)}
    chromium = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        said = folder / "DevToolsActivePort"
        wait_until(lambda: _lines(said), lambda: chromium.poll() is None)
        yield f"http://127.0.0.1:{_lines(said)[0]}"
    finally:
        with count_tree(chromium.pid):
            # Debian's program is a shell script, which would leave the browser behind
            os.killpg(chromium.pid, signal.SIGKILL)
            chromium.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _lines(file: Path) -> list[str]:
    lines = file.read_text().split("\n") if file.exists() else []
    return lines if len(lines) > 1 else []


@dataclass(frozen=True, slots=True)
class ServedSite:
    """A site that a browser can look at."""

    url: str
    port: int
    engine: Engine  # on the same ledger, for the test itself


@contextmanager
def serve_site(
    folder: Path, *, workers: int = 1, port: int = 0, settings: SiteSettings | None = None
) -> Iterator[ServedSite]:
    """Serve the site of a ledger in a folder, with workers beside it."""
    place = str(folder / "quire.db")
    site = Site(
        lambda workspace: open_engine(place, workspace=workspace, environment={}),
        settings or SiteSettings(),
    )
    listening = create_server(("127.0.0.1", port))
    taken: int = listening.getsockname()[1]
    config = uvicorn.Config(ready_site_app(site), log_level="warning", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    serving = threading.Thread(target=server.run, args=([listening],), name="site of a test")
    with open_engine(place, environment={}) as engine, _work(place, workers):
        serving.start()
        try:
            wait_until(lambda: server.started, serving.is_alive)
            yield ServedSite(f"http://127.0.0.1:{taken}", taken, engine)
        finally:
            server.should_exit = True
            serving.join()
            listening.close()


@contextmanager
def _work(place: str, count: int) -> Iterator[None]:
    ended = threading.Event()
    engines = [open_engine(place, environment={}) for _ in range(count)]
    threads = [
        threading.Thread(target=engine.work, args=(ended.is_set,), name="worker of a test")
        for engine in engines
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for engine, thread in zip(engines, threads, strict=True):
            engine.stop()
            thread.join()
            engine.close()


def axe_violations(page: Page) -> list[str]:
    """What keeps people from using a page, each rule with the first places; none: []."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.axe_script)
        if not os.environ.get(PICTURES):
            page.evaluate(EACH_LOOK_ONCE)
    options = {"resultTypes": ["violations"], "runOnly": RULES}
    found = page.evaluate("async (options) => (await axe.run(options)).violations", options)
    return [
        f"{problem['id']}: {problem['help']}: "
        + json.dumps([node["html"][:160] for node in problem["nodes"][:3]])
        for problem in found
    ]


def take_pictures(page: Page, name: str, folder: Path | None) -> None:
    """Look at a page in light and dark at 1280 pixels, and at 390 as on a phone; keep it so."""
    sizes = {"light": (1280, "light"), "dark": (1280, "dark"), "phone": (390, "light")}
    for kind, (width, scheme) in sizes.items():
        page.set_viewport_size({"width": width, "height": 844})
        page.evaluate("scrollTo(0, 0)")  # else the header stands where the page was
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        if folder:
            page.screenshot(path=folder / f"{name}_{kind}.png", full_page=True)


def main(arguments: Sequence[str]) -> int:
    """Make sure that tests will have a Chromium, and say which."""
    if arguments:
        sys.stderr.write("usage: python -m tests.web.browser\n")
        return 2
    try:
        where = ensure_chromium()
    except ChromiumMissing as missing:
        sys.stderr.write(f"{missing}\n")
        return 1
    sys.stdout.write(f"Chromium for the tests: {where}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
