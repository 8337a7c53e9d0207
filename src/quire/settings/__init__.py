"""Settings: the environment and quire.toml become one frozen value, each part with its source."""

from quire.settings.first_file import TEMPLATE
from quire.settings.settings_file import (
    DEFAULT_LEDGER,
    FILE,
    Settings,
    base_url,
    read_settings,
)

__all__ = ["DEFAULT_LEDGER", "FILE", "TEMPLATE", "Settings", "base_url", "read_settings"]
