"""Tables for the terminal: settings, a verdict, and all that is known of a module or a kernel. Rich renders; nothing is computed here."""

import re

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

from kernelzero.config import Config
from kernelzero.keck import Verdict
from kernelzero.store.show import ModuleStory


def settings_table(config: Config) -> Table:
    """Every setting with its value, and its meaning where the name does not say it."""
    table = Table("setting", "value", "meaning", header_style="bold", title=f"profile {config.profile}")
    for name, field in type(config).model_fields.items():
        value = getattr(config, name)
        if not hasattr(type(value), "model_fields"):
            table.add_row(name, str(value), field.description or "")
            continue
        for inner, detail in type(value).model_fields.items():
            table.add_row(f"{name}.{inner}", str(getattr(value, inner)), detail.description or "")
    return table


def print_verdict(console: Console, verdict: Verdict) -> None:
    """One line that says how it ended, then why, how close, and how fast."""
    judgement, measured = verdict.judgement, verdict.measurement
    if judgement is None:
        console.print(f"[yellow]not judged[/yellow]: {verdict.not_judged}" + (" (worth trying again)" if verdict.retry else ""))
        return
    if judgement.correct:
        console.print("[bold green]correct[/bold green]" + (" but unsteady: the error sits at the tolerance, or some seeds fail" if judgement.flaky else ""))
    else:
        console.print(f"[bold red]rejected[/bold red] after stage '{judgement.stage}': [bold]{judgement.reason}[/bold]", soft_wrap=True)
    if judgement.detail:
        console.print(judgement.detail, markup=False, soft_wrap=True)
    if judgement.max_error is not None:
        console.print(f"largest error: {judgement.max_error:.3g} of the tolerance ({judgement.tolerance})", markup=False, soft_wrap=True)
    if measured:
        kind = "estimated by the roofline, not measured" if measured.timer == "roofline" else f"measured on {measured.device}"
        console.print(f"speedup over eager: {measured.speedup:.2f}x ({kind}; {measured.launches} launches and {measured.bytes_moved:,} bytes against "
                      f"{measured.reference_launches} and {measured.reference_bytes:,})", soft_wrap=True)


def print_source(console: Console, title: str, source: str) -> None:
    console.print(f"[bold]{title}[/bold]")
    console.print(Syntax(source, "python", background_color="default"))


def print_description(console: Console, story) -> None:
    """A module's or a kernel's story (kernelzero.store.show) as headings, sources and tables."""
    if isinstance(story, ModuleStory):
        console.print(f"[bold]module[/bold] {story.module_id}" + (f" ({story.name})" if story.name else ""), soft_wrap=True)
        console.print(f"written by: {story.origin or 'unknown'}; APIs: {', '.join(story.apis) or 'not extracted'}", markup=False, soft_wrap=True)
        print_source(console, "source", story.source)
        for title, rows in (("where it was proposed", story.proposed), ("how often it was solved", story.tries),
                            ("why its kernels failed", story.failures), ("its fastest correct kernels", story.fastest)):
            _print_rows(console, title, rows)
    else:
        console.print(f"[bold]kernel[/bold] {story.kernel_id} for {story.backend}", soft_wrap=True)
        print_source(console, "source", story.source)
        _print_rows(console, "its verdicts", story.verdicts)
        _print_rows(console, "where it was sampled", story.sampled)


def _print_rows(console: Console, title: str, rows: list[dict], most: int = 10) -> None:
    if not rows:
        console.print(f"[bold]{title}[/bold]: nothing recorded")
        return
    table = Table(title=f"{title}" + (f" (the first {most} of {len(rows)})" if len(rows) > most else ""), title_justify="left", header_style="bold")
    filled = [name for name in rows[0] if any(row[name] not in (None, "", [], {}) for row in rows)]
    for name in filled:
        table.add_column(name, overflow="fold")
    for row in rows[:most]:
        table.add_row(*(cell(row[name]) for name in filled))
    console.print(table)


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


def frame_table(frame) -> Table:
    """A polars frame, whole."""
    table = Table(header_style="bold")
    for column in frame.columns:
        table.add_column(column, overflow="fold")
    for row in frame.iter_rows():
        table.add_row(*(cell(value) for value in row))
    return table
