"""What a source's names are made from besides its bytes: its format, who reads it, and how."""

import re
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from quire.domain.documents import AS_FOUND, ReadOptions
from quire.domain.source_formats import SourceFormat
from quire.sources.source_files import FORMATS, Intake
from quire.sources.source_parts import BadContent


class Naming(NamedTuple):
    """What a source's names are made from besides its bytes."""

    source_type: str
    parsing_tool: str
    representation_type: str


def naming_of(form: SourceFormat, options: ReadOptions = AS_FOUND, delimiter: str = "") -> Naming:
    """Name the conversion: whatever makes other blocks of the same bytes makes another name."""
    row = FORMATS[form]
    name = re.sub("_(rows|values)$", "", row.reader)
    own = f"quire-{name}/{row.rules}"
    tool = f"{_versions(row.packages, row.extra)};rules={row.rules}" if row.packages else own
    tool += f";delimiter={delimiter}" if delimiter else ""
    tool += f";encoding={options.encoding}" if _heeds_encoding(form, options) else ""
    tool += f";text={options.text_column}" if _heeds_column(form, options.text_column) else ""
    tool += ";no_text=skipped" if _heeds_column(form, options.text_column) else ""
    tool += f";key={options.key_column}" if _heeds_column(form, options.key_column) else ""
    if row.intake is Intake.ROWS and options.skip_bad_rows:
        tool += ";bad_rows=skipped"
    if form is SourceFormat.PDF and options.ocr:
        tool += f";ocr={_versions(('rapidocr', 'onnxruntime'), 'ocr')}"
    return Naming(form.source_type, tool, f"{name}_bytes")


_WITH_COLUMNS = {
    SourceFormat.CSV,
    SourceFormat.TSV,
    SourceFormat.JSONL,
    SourceFormat.JSON,
    SourceFormat.XLSX,
    SourceFormat.PARQUET,
}


def _heeds_column(form: SourceFormat, column: str | None) -> bool:
    return column is not None and form in _WITH_COLUMNS


def _heeds_encoding(form: SourceFormat, options: ReadOptions) -> bool:
    return options.encoding is not None and FORMATS[form].intake is not Intake.BYTES


@cache
def _versions(packages: tuple[str, ...], extra: str) -> str:
    try:
        return ";".join(f"{package}/{version(package)}" for package in packages)
    except PackageNotFoundError as error:
        raise BadContent(missing_extra(extra)) from error


def missing_extra(extra: str) -> str:
    """What to do where packages are not installed."""
    return f"its reader is not installed: pip install 'quire[{extra}]'"
