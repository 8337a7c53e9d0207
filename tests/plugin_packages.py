"""Packages of strangers, installed for one test."""

from pathlib import Path


class Packages:
    """Installs packages that offer something into a folder, which stands on the path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(self, package: str, points: str, module: str) -> None:
        """Write a package and what it says of itself."""
        (self.folder / f"{package}.py").write_text(module)
        about = self.folder / f"{package}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(points)
