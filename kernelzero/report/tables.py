"""Tables for the terminal: settings, a verdict, and all that is known of a module or a kernel. Rich renders; nothing is computed here."""

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

from kernelzero.config import Config
from kernelzero.keck import Verdict


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
