"""What MLflow is told: a child run a stage with its step metrics, and a registered version for each new checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelzero.stages.spec import StageResult, StageSpec
from kernelzero.store.records import Checkpoint

if TYPE_CHECKING:
    from kernelzero_tasks.run import RunHandle

ROLES = ("proposer", "coder")


def tracker(run: RunHandle):
    """The run's tracker; kept for the process, since opening MLflow's database takes longer than a stage's rows."""
    from kernelzero.tracking import Tracker
    key = (run.home.absolute(), run.run_id)
    if key not in _open:
        _open[key] = Tracker(run.home, run.run_id, run.config.model_dump(mode="json"))
    return _open[key]


_open: dict = {}


def track_stage(run: RunHandle, spec: StageSpec, result: StageResult) -> None:
    """Log the stage's metrics out of the database; safe to repeat."""
    metrics = run.store.query("select step, name, value from metrics where run_id = ? and round = ? and stage = ?",
                              [run.run_id, spec.round, spec.kind]).to_dicts()
    if spec.kind == "evaluate":
        metrics += [{"step": spec.round, "name": f"{r['suite']}/{r['metric']}", "value": r["value"]} for r in run.store.query(
            "select suite, metric, value from evaluations where run_id = ? and round = ?", [run.run_id, spec.round]).to_dicts()]
    tracked = tracker(run)
    child = tracked.stage(spec.round, spec.kind, [(m["name"], m["step"], m["value"]) for m in metrics], seconds=result.seconds)
    if spec.kind in ROLES:
        version = tracked.register(spec.kind, result.model, result.digest, spec.round, child)
        run.store.write([Checkpoint(run.run_id, spec.round, spec.kind, result.model, result.digest, str(version))])


def track_end(run: RunHandle, status: str) -> None:
    tracker(run).close(status)
