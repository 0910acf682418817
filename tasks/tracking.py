"""What MLflow is told: a child run a stage with its step metrics, and a registered version for each new checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelzero.stages.spec import StageResult, StageSpec
from kernelzero.store.records import Checkpoint

if TYPE_CHECKING:
    from kernelzero_tasks.run import RunHandle

ROLES = {"proposer": "proposer", "coder": "coder"}


def tracker(run: RunHandle):
    from kernelzero.tracking import Tracker
    return Tracker(run.home, run.run_id, run.config.model_dump(mode="json"))


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
        version = tracked.register(ROLES[spec.kind], result.model, result.digest, spec.round, child)
        run.store.write([Checkpoint(run.run_id, spec.round, ROLES[spec.kind], result.model, result.digest, str(version))])


def track_end(run: RunHandle, status: str) -> None:
    tracker(run).close(status)
