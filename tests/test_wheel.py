"""What pip installs has everything: SQL, templates, scripts, styles, recipes and examples too."""

from pathlib import Path
from zipfile import ZipFile

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"


def test_the_wheel_holds_every_file_of_the_package(tmp_path: Path) -> None:
    (built,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])

    with ZipFile(built) as wheel:
        held = {name for name in wheel.namelist() if name.startswith("quire/")}
    there = {
        path.relative_to(SOURCE).as_posix()
        for path in (SOURCE / "quire").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert held == there
    assert {Path(name).suffix for name in held} >= {".sql", ".html", ".js", ".css", ".svg", ".toml"}
