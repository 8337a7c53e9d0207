"""The browser of the tests."""

from urllib.error import URLError
from urllib.request import urlopen

from tests.time_limits import wait_until
from tests.web.browser import run_chromium


def answers(address: str) -> bool:
    try:
        with urlopen(f"{address}/json/version", timeout=60):
            return True
    except (URLError, ConnectionError):
        return False


def test_no_browser_outlives_the_tests() -> None:
    with run_chromium() as address:
        assert answers(address)

    wait_until(lambda: not answers(address))
