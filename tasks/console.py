"""What the terminal shows of a run: where it is, how it goes, how long it still takes, and at the end a line a round.

One line a step when it cannot be rewritten in place (a file, CI), a live line when it can.
"""

import time
from contextlib import contextmanager
from dataclasses import dataclass, field

from kernelzero_tasks.run import RunHandle
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from kernelzero.stages.spec import StageResult, StageSpec

out = Console(highlight=False, soft_wrap=True)

# how long a stage is before one of its kind was seen, relative to the others
GUESS = {"evaluate": 1.0, "proposer": 1.5, "generate": 0.4, "coder": 1.5}
TITLES = {"warm_start": "warm start", "proposer": "Proposer GRPO", "generate": "generation", "coder": "Coder CA-GRPO", "evaluate": "evaluation"}
PER_CENT = ("valid_share", "pass_rate", "frontier_occupancy", "gate_open_share", "nonzero_share")


@dataclass
class Pace:
    """Mean seconds of the stages seen so far in this process, by kind, and what is still to come."""

    rounds: int = 0
    seen: dict[str, list[float]] = field(default_factory=dict)

    def saw(self, kind: str, seconds: float) -> None:
        self.seen.setdefault(kind, []).append(seconds)

    def estimate(self, kind: str) -> float | None:
        if kind in self.seen:
            return sum(self.seen[kind]) / len(self.seen[kind])
        known = [(GUESS[k], s) for k, seconds in self.seen.items() if k in GUESS for s in seconds]
        return GUESS[kind] * sum(s for _, s in known) / sum(g for g, _ in known) if known else None

    def left(self, spec: StageSpec, share_done: float, elapsed: float) -> str:
        """' · about 3 min left', or '' while there is nothing to go by."""
        order = ["proposer", "generate", "coder", "evaluate"]
        if spec.kind not in order:
            return ""
        this = elapsed / share_done if share_done > 0.15 else self.estimate(spec.kind)
        later = [self.estimate(kind) for kind in order[order.index(spec.kind) + 1:]]
        rounds = [self.estimate(kind) for kind in order] * max(0, self.rounds - spec.round)
        parts = [this, *(later if spec.round else []), *rounds]
        if any(part is None for part in parts):
            return ""
        seconds = sum(parts) - elapsed
        return f" · about {max(1, round(seconds / 60))} min left" if seconds > 50 else f" · about {max(1, round(seconds))} s left"


pace = Pace()


def begin(run: RunHandle) -> None:
    pace.rounds = run.config.rounds
    pace.seen.clear()
    config = run.config
    out.print(f"[bold]KernelZero[/bold] run [bold]{run.run_id}[/bold] · profile {config.profile}, seed {config.seed}: {config.rounds} rounds x "
              f"({config.proposer.steps} Proposer + {config.coder.steps} Coder steps) on {config.base.device}")
    if config.base.device == "cpu":
        out.print("correctness: Triton kernels run by its interpreter; speed: a roofline [italic]estimate[/italic] (bytes and launches), not measured time")
    out.print(f"database {run.database} (open it while this runs: `kernelzero sql curriculum`)")


def _where(spec: StageSpec, run: RunHandle) -> str:
    where = "base" if spec.kind == "warm_start" else f"round {spec.round}/{run.config.rounds}"
    return f"{where:<10} {TITLES[spec.kind]:<14}"


def _figures(line: dict) -> str:
    parts = []
    for name, value in line.items():
        if name in ("step", "steps", "suite") or value is None:
            continue
        if name in PER_CENT:
            parts.append(f"{name.removesuffix('_share').removesuffix('_rate').replace('_', ' ')} {value:.0%}")
        elif name in ("reward", "loss"):
            parts.append(f"{name} {value:.2f}")
    return "  ".join(parts)


@contextmanager
def following(spec: StageSpec, run: RunHandle):
    """Yields the function that shows a line of progress."""
    started = time.perf_counter()
    where = _where(spec, run)
    if not out.is_terminal:
        def plain(line: dict) -> None:
            elapsed = time.perf_counter() - started
            if spec.kind != "warm_start" or line["step"] % 100 == 0:
                out.print(f"{where} {line['step']}/{line['steps']}  {_figures(line)}{pace.left(spec, line['step'] / line['steps'], elapsed)}")
        yield plain
    else:
        with Live(Text(f"{where} starting"), console=out, transient=True, refresh_per_second=4) as live:
            def rewrite(line: dict) -> None:
                elapsed = time.perf_counter() - started
                share = line["step"] / line["steps"]
                bar = "━" * round(20 * share)
                live.update(Text.assemble((where, "bold"), " ", (bar, "green"), ("─" * (20 - len(bar)), "dim"), f" {line['step']}/{line['steps']}  ",
                                          _figures(line), (pace.left(spec, share, elapsed), "dim")))
            yield rewrite


def finished(spec: StageSpec, result: StageResult) -> None:
    pace.saw(spec.kind, result.seconds)
    shown = [f"{name} {value:.1%}" for name, value in result.figures.items() if name.endswith("pass@1") or name.endswith("fast_1@1")]
    if "modules" in result.figures:
        shown.append(f"{result.figures['modules']} modules of {result.figures['completions']} completions")
    where = "base" if spec.kind == "warm_start" else f"round {spec.round}"
    out.print(f"[green]✓[/green] {where:<8} {TITLES[spec.kind]:<14} {result.seconds:5.1f} s  {'  '.join(shown)}".rstrip())
    if "warning" in result.figures:
        out.print(f"[bold red]WARNING[/bold red] {spec.name}: {result.figures['warning']}")


def skipped(spec: StageSpec) -> None:
    out.print(f"[dim]✓ {spec.name}: done already, taken from the database[/dim]")


def cached(spec: StageSpec) -> None:
    out.print(f"[green]✓[/green] base     warm start     from the cache ({spec.inputs_digest})")


def changed(spec: StageSpec) -> None:
    out.print(f"[yellow]{spec.name}: settings or inputs changed since it was done; it runs again[/yellow]")


def note(text: str) -> None:
    out.print(f"[yellow]{text}[/yellow]")


def waiting(spec: StageSpec, holder: str) -> None:
    out.print(f"[yellow]{spec.name}: the GPU is in use by {holder}; waiting for it[/yellow]")


COLUMNS = {"round": "round", "proposer_reward": "proposer reward", "valid_share": "valid modules", "frontier_occupancy": "frontier occupancy",
           "coder_pass_rate": "coder pass rate", "pass_at_1": "pass@1 mini", "fast_1_at_1": "fast_1@1 mini"}


def curriculum(frame) -> Table:
    """The table a round; shares as per cent, what a round has not is a dash."""
    table = Table(title="the curriculum, a line a round", header_style="bold")
    for title in COLUMNS.values():
        table.add_column(title, justify="right")
    for row in frame.to_dicts():
        cells = []
        for name in COLUMNS:
            value = row.get(name)
            cells.append("–" if value is None else str(value) if name == "round" else f"{value:.2f}" if name == "proposer_reward" else f"{value:.1%}")
        table.add_row(*cells)
    return table


def end(run: RunHandle, report: str) -> None:
    out.print(curriculum(run.store.named("curriculum", run_id=run.run_id)))
    out.print("fast_1@1: share of samples that are correct and faster than eager by the roofline estimate" if run.config.base.device == "cpu"
              else "fast_1@1: share of samples that are correct and measured faster than eager")
    out.print(f"made: database {run.database}, checkpoints {run.folder}" + (f", report {report}" if report else ""))
    out.print("next: `kernelzero sql --list`, `kernelzero sql failure_reasons`, `kernelzero show MODULE_OR_KERNEL_ID`, `kernelzero runs`")
