"""Tables for the terminal: settings, a verdict, and all that is known of a module or a kernel. Rich renders; nothing is computed here."""

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

from kernelzero.config import Config
from kernelzero.keck import Verdict
from kernelzero.keck.judge.document import INTERPRETER_LEAVES, VerdictDocument, document, status_of
from kernelzero.report.rows import print_rows
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


def print_verdicts(console: Console, verdicts: dict[str, Verdict], policy: str = "strict") -> None:
    """One or several candidates: each in lines of its own, then how many ended how, and what an interpreter's verdict leaves unproven."""
    for name, verdict in verdicts.items():
        if len(verdicts) > 1:
            console.print(f"{name}: ", end="", markup=False, soft_wrap=True)
        _print_verdict(console, document(name, verdict), policy)
    ended = [status_of(verdict) for verdict in verdicts.values()]
    if len(ended) > 1:
        console.print(f"{len(ended)} candidates: {ended.count('correct')} correct, {ended.count('rejected')} rejected, {ended.count('not_judged')} not judged")
    if "correct" in ended:
        console.print("judged by Triton's interpreter on a CPU, which leaves unproven:")
        for line in INTERPRETER_LEAVES:
            console.print(f"- {line}", markup=False)


def _print_verdict(console: Console, verdict: VerdictDocument, policy: str) -> None:
    """A line that says how it ended, then why, where it first differs, how close, how fast, and what to look at next."""
    def say(text: str) -> None:
        console.print(text, markup=False)

    if verdict.status == "not_judged":
        console.print("[yellow]not judged[/yellow]")
        say(verdict.not_judged + (" (worth trying again)" if verdict.retry else ""))
        return
    if verdict.status == "correct":
        console.print("[bold green]correct[/bold green]" + (" but unsteady: the error sits at the tolerance" if verdict.flaky else ""))
    else:
        console.print(f"[bold red]rejected[/bold red] after stage '{verdict.stage}': [bold]{verdict.reason}[/bold]")
        say(f"that is: {verdict.meaning}")
    if verdict.detail:
        say(verdict.detail)
    place = verdict.first_difference
    if place:
        case = f"seed {place.seed}, scale {place.scale:g}, values {place.values}, call {place.call}"
        say(f"first differs in case {case}, output {place.output} of shape {place.shape} at {place.index}:")
        say(f"  expected {place.expected}")
        say(f"  got      {place.got}")
        if place.tolerance is not None:
            say(f"  error    {place.error:.3g}" if isinstance(place.error, float) else f"  error    {place.error}")
            say(f"  allowed  {place.tolerance:.3g}" if isinstance(place.tolerance, float) else f"  allowed  {place.tolerance}")
        say(f"  {place.wrong} elements differ so, the worst at {place.worst}")
    if isinstance(verdict.max_error, float):
        say(f"largest error: {verdict.max_error:.3g} of the tolerance ({verdict.tolerance})")
    speed = verdict.speed
    if speed:
        kind = "estimated by the roofline, not measured" if speed.timer == "roofline" else f"measured on {speed.device}"
        say(f"speedup over eager: {speed.speedup:.2f}x ({kind}; {speed.launches} launches and {speed.bytes_moved:,} bytes against "
            f"{speed.reference_launches} and {speed.reference_bytes:,})")
        if policy == "kernelbench":
            say(f"its own kernels take {speed.own_share:.0%} of that time, torch's operators the rest")
    if verdict.next:
        say(f"next: {verdict.next}")


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
    print_rows(console, rows[:most], title + (f" (the first {most} of {len(rows)})" if len(rows) > most else ""))
