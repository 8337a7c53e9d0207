"""Accessors are there once both packages are, whichever came first; neither imports the other."""

import subprocess
import sys

ORDERS = {
    "quire first": """
import importlib.util, sys, quire
assert "pandas" not in sys.modules
count = lambda: [type(finder).__name__ for finder in sys.meta_path].count("_ImportWatcher")
assert importlib.util.find_spec("pandas").loader is not None  # only asked for
assert count() == 2
import pandas
assert count() == 1
assert pandas.__loader__.__dict__.get("exec_module") is None
""",
    "pandas first": "import pandas, quire",
}


def test_pandas_is_given_the_accessor_whichever_is_imported_first() -> None:
    for order, code in ORDERS.items():
        check = "assert pandas.DataFrame({'a': [1]}).quire.extract, 'none'"
        ended = subprocess.run(
            [sys.executable, "-W", "error", "-c", f"{code}\n{check}"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, f"{order}: {ended.stderr}"
