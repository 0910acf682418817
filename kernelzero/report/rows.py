"""Rows of a query for a terminal: a table where it fits without breaking a word, else a record on lines of its own.

Sources (values of several lines) never stand in a cell: they follow below with the id that they belong to. Reasons come with their
meaning. Rich renders; nothing is computed here.
"""

import re

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

from kernelzero.keck import MEANING

NOTHING = (None, "", "{}", "[]", [], {})
PADDING = 3  # columns that a cell takes beside its text


def cell(value) -> str:
    """A value as a table shows it: ids by their first twelve digits, floats by four, nothing as a dash."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    text = str(value)
    return text[:12] if re.fullmatch("[0-9a-f]{64}", text) else text


def print_rows(console: Console, rows: list[dict], title: str = "") -> None:
    """Rows with equal keys, in their order; columns that hold nothing in any row are left out of a titled listing and of records."""
    if title:
        console.print(title, style="bold")
    sources = {name for row in rows for name, value in row.items() if name == "source" or isinstance(value, str) and "\n" in value}
    filled = [name for name in rows[0] if any(row[name] not in NOTHING for row in rows)]
    shown = [name for name in (filled if title else rows[0]) if name not in sources]
    texts = [[cell(row[name]) for name in shown] for row in rows]
    widths = [max(map(len, column)) for column in zip(shown, *texts, strict=True)]
    if sum(widths) + PADDING * len(widths) + 1 <= console.width:
        table = Table(*shown, header_style="bold")
        for text in texts:
            table.add_row(*text)
        console.print(table, markup=False)
    else:
        _print_records(console, rows, [name for name in shown if name in filled])
    for row in rows:
        for name in sorted(sources):
            if row[name]:
                owner = next((f" of {key.removesuffix('_id')} {cell(row[key])}" for key in ("kernel_id", "module_id") if row.get(key)), "")
                console.print(f"\n{name}{owner}", style="bold")
                console.print(Syntax(row[name].rstrip(), "python", background_color="default", word_wrap=True))


def _print_records(console: Console, rows: list[dict], names: list[str]) -> None:
    """A record after the other, a field a line; what is long is wrapped beside its name."""
    for index, row in enumerate(rows):
        if index:
            console.print()
        lines = Table.grid(padding=(0, 2, 0, 0))
        lines.add_column(style="bold", no_wrap=True)
        lines.add_column(overflow="fold")
        for name in names:
            if row[name] in NOTHING:
                continue
            text = cell(row[name])
            meaning = MEANING.get(row[name]) if name == "reason" else None
            lines.add_row(name, f"{text}: {meaning}" if meaning else text)
        console.print(lines, markup=False)
