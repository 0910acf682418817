"""Evaluation of a checkpoint on the suites of a profile, apart from any round."""

from pathlib import Path

from kernelzero_tasks import console
from kernelzero_tasks.run import new_run_id, open_run, recorded, serving
from kernelzero_tasks.stages import evaluate_coder
from prefect import flow

from kernelzero.config import load


@flow(name="evaluate", flow_run_name="evaluate {model}")
def evaluate(model: str, profile: str = "tiny", overrides: list[str] | None = None, home: str = ".kernelzero") -> str:
    """Evaluate the model folder as round 0 of a run of its own; returns the run id."""
    config = load(profile, [*(overrides or []), "rounds=0", "base.warm_start=false", f"base.model={model}"])
    run = open_run(new_run_id("evaluate"), config, Path(home))
    with recorded(run), serving(run):
        console.begin(run)
        evaluate_coder(run, 0, model)
    console.end(run, "")
    return run.run_id
