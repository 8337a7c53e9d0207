"""The engine: the one interface of the command line, scripts, servers and kits.

What it gives and takes is imported from here too, wherever it is defined.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quire.accounts.credentials import KnownKey
    from quire.dispatch.runtime import Runtime
    from quire.domain.regating import RegateReport
    from quire.engine.accuracy_reports import AccuracyReport
    from quire.engine.engine import Engine, open_engine
    from quire.engine.forecasts import Plan
    from quire.engine.library import Ingestion
    from quire.engine.queries import RunOutcomes
    from quire.engine.run_handle import RunHandle
    from quire.export.data_frames import make_frame
    from quire.export.flat_tables import FlatTable
    from quire.export.formats import ExportReport, check_output
    from quire.export.html_page import (
        Tile,
        render_head,
        render_meanings,
        render_page,
        render_table,
        render_tiles,
    )
    from quire.export.read_export import read_export
    from quire.export.result_rows import ExportedBlock, ExportedTask
    from quire.export.result_selection import row_filter
    from quire.export.result_tree import ResultTree
    from quire.export.table_folders import (
        WrittenFolder,
        check_table_format,
        table_file,
        typed_columns,
        write_table_folder,
    )
    from quire.ledger.tables.pieces import ChainCall
    from quire.ledger.tables.results import TaskOutcome
    from quire.ledger.tables.views import AttemptView, RequestLine
    from quire.ledger.tables.webhooks import Webhook
    from quire.pipeline.answers.progress import is_at_rest
    from quire.pipeline.commands.decide import DecisionOutcome, EditableData
    from quire.pipeline.commands.start import Order
    from quire.planning.accuracy import RunAccuracy, RunDifference
    from quire.planning.batch_caching import BatchCaching, CachingOption
    from quire.planning.job_forecasts import EARLY_TASKS, describe_forecast_error
    from quire.planning.pack_probe import ProbeSpend
    from quire.planning.share_estimates import Excess, ShareEstimate
    from quire.planning.spend_views import SpendSums
    from quire.planning.stage_forecasts import VETOED, StageForecast
    from quire.planning.variants import Forecast, Variant
    from quire.providers.key_check import KeyCheck
    from quire.recipes.recipe_files import RecipeFile
    from quire.recipes.recipe_parameters import Parameter

__all__ = [
    "EARLY_TASKS",
    "VETOED",
    "AccuracyReport",
    "AttemptView",
    "BatchCaching",
    "CachingOption",
    "ChainCall",
    "DecisionOutcome",
    "EditableData",
    "Engine",
    "Excess",
    "ExportReport",
    "ExportedBlock",
    "ExportedTask",
    "FlatTable",
    "Forecast",
    "Ingestion",
    "KeyCheck",
    "KnownKey",
    "Order",
    "Parameter",
    "Plan",
    "ProbeSpend",
    "RecipeFile",
    "RegateReport",
    "RequestLine",
    "ResultTree",
    "RunAccuracy",
    "RunDifference",
    "RunHandle",
    "RunOutcomes",
    "Runtime",
    "ShareEstimate",
    "SpendSums",
    "StageForecast",
    "TaskOutcome",
    "Tile",
    "Variant",
    "Webhook",
    "WrittenFolder",
    "check_output",
    "check_table_format",
    "describe_forecast_error",
    "is_at_rest",
    "make_frame",
    "open_engine",
    "read_export",
    "render_head",
    "render_meanings",
    "render_page",
    "render_table",
    "render_tiles",
    "row_filter",
    "table_file",
    "typed_columns",
    "write_table_folder",
]

_NAMES = {
    "quire.accounts.credentials": ("KnownKey",),
    "quire.dispatch.runtime": ("Runtime",),
    "quire.engine.accuracy_reports": ("AccuracyReport",),
    "quire.engine.engine": ("Engine", "open_engine"),
    "quire.engine.forecasts": ("Plan",),
    "quire.engine.library": ("Ingestion",),
    "quire.engine.queries": ("RunOutcomes",),
    "quire.engine.run_handle": ("RunHandle",),
    "quire.export.data_frames": ("make_frame",),
    "quire.export.flat_tables": ("FlatTable",),
    "quire.export.formats": ("ExportReport", "check_output"),
    "quire.export.read_export": ("read_export",),
    "quire.export.html_page": (
        "Tile",
        "render_head",
        "render_page",
        "render_meanings",
        "render_table",
        "render_tiles",
    ),
    "quire.export.result_rows": ("ExportedBlock", "ExportedTask"),
    "quire.export.result_selection": ("row_filter",),
    "quire.export.result_tree": ("ResultTree",),
    "quire.export.table_folders": (
        "WrittenFolder",
        "check_table_format",
        "table_file",
        "typed_columns",
        "write_table_folder",
    ),
    "quire.ledger.tables.pieces": ("ChainCall",),
    "quire.ledger.tables.results": ("TaskOutcome",),
    "quire.ledger.tables.views": ("AttemptView", "RequestLine"),
    "quire.ledger.tables.webhooks": ("Webhook",),
    "quire.pipeline.answers.progress": ("is_at_rest",),
    "quire.pipeline.commands.decide": ("DecisionOutcome", "EditableData"),
    "quire.domain.regating": ("RegateReport",),
    "quire.pipeline.commands.start": ("Order",),
    "quire.planning.accuracy": ("RunAccuracy", "RunDifference"),
    "quire.planning.batch_caching": ("BatchCaching", "CachingOption"),
    "quire.planning.job_forecasts": ("EARLY_TASKS", "describe_forecast_error"),
    "quire.planning.pack_probe": ("ProbeSpend",),
    "quire.planning.share_estimates": ("Excess", "ShareEstimate"),
    "quire.planning.spend_views": ("SpendSums",),
    "quire.planning.stage_forecasts": ("VETOED", "StageForecast"),
    "quire.planning.variants": ("Forecast", "Variant"),
    "quire.providers.key_check": ("KeyCheck",),
    "quire.recipes.recipe_files": ("RecipeFile",),
    "quire.recipes.recipe_parameters": ("Parameter",),
}


def __getattr__(name: str) -> object:
    """Import what is asked for when it is asked for: `quire models` needs no database."""
    for module, names in _NAMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'quire.engine' has no attribute {name!r}")
