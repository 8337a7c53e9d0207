"""Writes docs/tables.md: every view of the ledger with its columns, from the views' own file."""

from collections.abc import Iterator
from pathlib import Path

from quire.ledger.view_scripts import View, views
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "tables.md"

INTRODUCTION = """\
# The ledger as tables

A ledger is a database, and whoever can read one can ask it: SQLite's own shell, Datasette, DuckDB,
psql, pandas. For them there are views with readable columns: moments in ISO form and UTC, money in
dollars, and keys that join. They can only be read. The tables beneath them are
[the ledger's own](../ARCHITECTURE.md#tables), and change with it.

```
sqlite3 quire.db "SELECT stage, status, count(*), sum(cost_usd) FROM v_results_flat GROUP BY 1, 2"
datasette quire.db                                          # every view as a page
duckdb -c "ATTACH 'quire.db' (TYPE sqlite); SELECT * FROM quire.v_runs"
psql postgresql://me@localhost/quire -c "TABLE v_runs"
```

Nobody has to know a join to begin: `v_results_flat` has one row a task. From there to what the
model said; who decided what; and how batches stand:

```sql
SELECT f.title, f.status, q.tasks, a.sent_at, a.cost_usd, p.text
FROM v_results_flat f JOIN v_request_tasks m ON m.task_id = f.task_id
JOIN v_requests q ON q.request_id = m.request_id
JOIN v_attempts a ON a.request_id = q.request_id
LEFT JOIN v_responses p ON p.attempt_id = a.attempt_id WHERE f.run_id = 1;

SELECT v.decision, v.reviewer, r.data
FROM v_reviews v JOIN v_results r ON r.result_id = v.result_id;

SELECT b.ref, i.state, count(*)
FROM v_batches b JOIN v_batch_items i ON i.batch_id = b.batch_id GROUP BY b.ref, i.state;
```

A column that is called like the key of another view joins it: `run_id` leads to `v_runs`,
`stage_id` to `v_run_stages`, `request_id` to `v_requests`, `attempt_id` to `v_attempts`, `batch_id`
to `v_batches`, `result_id` to `v_results`, `task_id` to `v_results_flat`. `quire export`
[writes rows](reference.md#5-results) with the fields of the schema as columns, and
`quire export RUN -o folder/` all of these tables of one run as CSV files, with every text whole.

This page is written from `ledger/sql/views/views.sql` by `make docs`; a test compares the two.
"""


def table_page() -> str:
    """Write the whole page."""
    return "\n".join([INTRODUCTION, *(line for view in views() for line in _section(view))])


def _section(view: View) -> Iterator[str]:
    yield f"## {view.name}\n"
    yield f"{view.meaning}\n"
    yield "| Column | Type | Is |"
    yield "|---|---|---|"
    for column in view.columns:
        yield f"| `{column.name}` | {column.datatype} | {column.meaning} |"
    yield ""


def main(page: Path = PAGE) -> None:
    """Write it where it belongs."""
    page.write_text(table_page(), "utf-8")


if __name__ == "__main__":
    main()
