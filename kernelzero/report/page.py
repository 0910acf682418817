"""One self-contained HTML page of a run: pictures as inline SVG, tables as HTML, no script and no network."""

from html import escape
from pathlib import Path

from kernelzero.errors import UserError
from kernelzero.report import pictures
from kernelzero.report.rows import cell
from kernelzero.store import Store, describe
from kernelzero.store.records import Run

SECTIONS = {  # query -> heading; under it stands the question that the query's file opens with
    "curriculum": "The curriculum",
    "learning_curve": "Step by step",
    "gate": "The gate",
    "frontier_occupancy": "The frontier",
    "failure_reasons": "Why kernels failed",
    "validation_failures": "Why modules were refused",
    "not_judged": "What could not be judged",
    "success_by_api": "Success by API",
    "diversity": "Diversity",
    "tokens": "Tokens",
    "time_split": "Where the wall time went",
    "evaluations": "Evaluations",
    "checkpoints": "Checkpoints",
}
ROWS = 60  # that a table of the page shows
TIMERS = {
    "roofline": "Speed is a roofline <em>estimate</em> from bytes moved and launches made, against the same count for the reference; "
    "it is not measured time. Correctness is real: every kernel was run.",
    "cuda": "Speed is measured on the device, kernel and reference interleaved.",
    "": "No correct kernel was timed.",
}


def write_report(store: Store, run_id: str, path: str | Path) -> None:
    """Write the page of `run_id` (a beginning of an id, or `latest`) to `path`; replaces an older page as a whole.

    Raises UserError when there is no such run, or `path` cannot be written.
    """
    from jinja2 import Environment, PackageLoader

    run_id = store.resolve_run(run_id)
    (run,) = store.rows(Run, run_id=run_id)
    questions = dict(store.queries())
    frames = {name: store.named(name, run_id=run_id) for name in SECTIONS}
    histogram = store.named("frontier_histogram", run_id=run_id, bins=5)
    template = Environment(loader=PackageLoader("kernelzero.report", "."), autoescape=True).get_template("page.html.j2")
    page = template.render(
        run=run, timers=[TIMERS.get(timer, escape(timer)) for timer in _timers(store, run_id)],
        warm_start=bool(run.config.get("base", {}).get("warm_start")),
        pictures=[pictures.rounds(frames["curriculum"]), pictures.steps(frames["learning_curve"]),
                  pictures.frontier(histogram, 5), pictures.time(frames["time_split"])],
        sections=[(title, questions[name], *_table(frames[name])) for name, title in SECTIONS.items()],
        examples=_examples(store, run_id), settings=_flat(run.config))
    _replace(Path(path), page)


def _table(frame) -> tuple[list[str], list[list[str]], int]:
    """Columns, the first rows as text, and how many rows are left out."""
    rows = [[cell(value) for value in row] for row in frame.head(ROWS).iter_rows()]
    return frame.columns, rows, max(0, frame.height - ROWS)


def _timers(store: Store, run_id: str) -> list[str]:
    """The timers behind the run's speedups; [''] when there is none."""
    found = store.query("SELECT DISTINCT timer FROM outcomes WHERE run_id = ? AND timer <> '' ORDER BY timer", [run_id])
    return found["timer"].to_list() or [""]


def _examples(store: Store, run_id: str) -> list[tuple[str, str, str]]:
    """(title, module, kernel): a module with its fastest correct kernel, and one that was never solved with a kernel of it.

    Of the modules that the run's own models wrote; of each kind the one that was tried most often.
    """
    found = []
    for title, solved in (("Solved", True), ("Never solved", False)):
        rows = store.query(
            "SELECT module_id FROM outcomes WHERE run_id = $run AND role IN ('reward', 'train') AND kernel_id <> '' "
            "GROUP BY module_id HAVING bool_or(correct) = $solved ORDER BY count(*) DESC, module_id LIMIT 1",
            {"run": run_id, "solved": solved}).rows()
        if not rows:
            continue
        kernel = store.query(
            "SELECT o.kernel_id, k.source, o.reached, o.reason, o.speedup, o.timer FROM outcomes o JOIN kernels k USING (kernel_id) "
            "WHERE o.run_id = $run AND o.module_id = $module AND o.correct = $solved "
            "ORDER BY o.speedup DESC NULLS LAST, o.kernel_id LIMIT 1",
            {"run": run_id, "solved": solved, "module": rows[0][0]}).to_dicts()[0]
        story = describe(store, rows[0][0])
        tries = ", ".join(f"round {t['round']} {t['stage']} {t['k']} of {t['n']}" for t in story.tries if t["run_id"] == run_id)
        fast = f", {kernel['speedup']:.2f}x eager ({kernel['timer']})" if kernel["speedup"] is not None else ""
        said = f"correct{fast}" if solved else f"{kernel['reason']} (came as far as: {kernel['reached']})"
        found.append((f"{title} ({tries}). Right: kernel {kernel['kernel_id'][:12]}, {said}", story.source, kernel["source"]))
    return found


def _flat(values: dict, prefix: str = "") -> dict[str, str]:
    flat = {}
    for name, value in values.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": str(value)}
    return flat


def _replace(path: Path, page: str) -> None:
    """The page under its name, whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(page, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        if partial.is_file():
            partial.unlink()
        raise UserError(f"cannot write the report {path}: {error.strerror}; give another path") from error
