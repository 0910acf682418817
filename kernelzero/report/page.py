"""One self-contained HTML page of a run: pictures as inline SVG, tables as HTML, no script and no network."""

import io
from pathlib import Path

from kernelzero.report.tables import cell
from kernelzero.store import Store
from kernelzero.store.records import Run
from kernelzero.store.show import describe

TITLES = {
    "curriculum": "The curriculum, a line a round", "time_split": "Where the wall time went", "failure_reasons": "Why kernels failed",
    "validation_failures": "Why modules were refused", "gate": "The gate, step by step", "diversity": "Distinct sources and API sets",
    "success_by_api": "Success by API", "checkpoints": "Checkpoints"}


def write_report(store: Store, run_id: str, path: str | Path) -> None:
    """Write the page of `run_id` to `path`; replaces an older one as a whole."""
    from jinja2 import Environment, PackageLoader

    run_id = store.resolve_run(run_id)
    (run,) = store.rows(Run, run_id=run_id)
    frames = {name: store.named(name, run_id=run_id) for name in TITLES}
    page = Environment(loader=PackageLoader("kernelzero.report", "."), autoescape=True).get_template("page.html.j2").render(
        run=run, tables=[(TITLES[name], frame.columns, [[cell(v) for v in row] for row in frame.iter_rows()]) for name, frame in frames.items()],
        pictures=[_learning(frames["curriculum"]), _frontier(store, run_id)], examples=_examples(store, run_id),
        roofline=run.config["base"]["device"] == "cpu")
    path = Path(path)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(page)
    partial.replace(path)


def _svg(figure) -> str:
    stream = io.StringIO()
    figure.savefig(stream, format="svg", bbox_inches="tight")
    text = stream.getvalue()
    return text[text.index("<svg"):]


def _figure(title: str, x: str, y: str):
    from matplotlib.figure import Figure
    figure = Figure(figsize=(6, 3.2))
    axes = figure.subplots()
    axes.set(title=title, xlabel=x, ylabel=y)
    axes.grid(alpha=0.3)
    return figure, axes


def _learning(curriculum) -> str:
    figure, axes = _figure("Learning, round by round", "round", "share")
    rows = curriculum.to_dicts()
    for name, label in (("pass_at_1", "pass@1"), ("fast_1_at_1", "fast_1@1"), ("coder_pass_rate", "Coder's training samples"),
                        ("frontier_occupancy", "frontier occupancy"), ("valid_share", "valid modules")):
        points = [(r["round"], r[name]) for r in rows if r[name] is not None]
        if points:
            axes.plot(*zip(*points, strict=True), marker="o", label=label)
    axes.set_ylim(0, 1)
    axes.set_xticks([r["round"] for r in rows])
    axes.legend(fontsize="small")
    return _svg(figure)


def _frontier(store: Store, run_id: str) -> str:
    """Histogram of p = k/n of the proposed modules, a line a round."""
    figure, axes = _figure("Success rate of proposed modules", "p = k / n", "share of the round's modules")
    tried = store.query("select round, k / n as p from proposals where run_id = ? and n > 0 order by round", [run_id])
    for (round_,), part in tried.group_by(["round"], maintain_order=True):
        shares = [part.filter(part["p"].is_between(low, low + 0.2, closed="both" if low > 0.75 else "left")).height / part.height
                  for low in (0.0, 0.2, 0.4, 0.6, 0.8)]
        axes.plot([0.1, 0.3, 0.5, 0.7, 0.9], shares, marker="o", label=f"round {round_}")
    if tried.height:
        axes.legend(fontsize="small")
    return _svg(figure)


def _examples(store: Store, run_id: str) -> list[tuple[str, str, str]]:
    """(title, source of a module, source of a kernel): a module that was solved, with its fastest kernel, and one that never was."""
    found = []
    for title, having, wanted in (("Solved: the fastest correct kernel", "count(*) filter (correct) > 0", True),
                                  ("Unsolved: one of its kernels", "count(*) filter (correct) = 0", False)):
        rows = store.query(
            f"select module_id from samples join judgements using (judgement_id, module_id) where run_id = ? and role = 'train' "
            f"group by module_id having {having} order by count(*) desc, module_id limit 1", [run_id]).rows()
        if not rows:
            continue
        kernel = store.query("select kernel_id, source, stage, reason from judgements join kernels using (kernel_id) where module_id = ? and correct = ? "
                             "order by speedup desc nulls last, kernel_id limit 1", [rows[0][0], wanted]).rows()
        if kernel:
            said = "correct" if wanted else f"{kernel[0][3]} (after stage {kernel[0][2]})"
            found.append((f"{title}: {said}", describe(store, rows[0][0]).source, kernel[0][1]))
    return found
