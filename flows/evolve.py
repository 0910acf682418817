"""The main job: round 0 evaluates the base, then every round trains the Proposer, then the Coder, and evaluates it."""

from pathlib import Path

from kernelzero_flows.evolve_round import evolve_round
from kernelzero_flows.warm_start import warm_start
from kernelzero_tasks import console
from kernelzero_tasks.artifacts import curriculum_table, summary
from kernelzero_tasks.report import write_report
from kernelzero_tasks.run import new_run_id, open_run, recorded, serving
from kernelzero_tasks.stages import evaluate_coder
from prefect import flow

from kernelzero.config import load


@flow(name="evolve", flow_run_name="evolve {profile} {run_id}")
def evolve(profile: str = "tiny", overrides: list[str] | None = None, run_id: str = "", home: str = ".kernelzero") -> str:
    """Run or continue a whole co-evolution; returns the run id.

    profile: a profile's name or a TOML file; '' goes on with the stored configuration of `run_id`. overrides: 'section.key=value'.
    """
    config = load(profile, overrides or []) if profile else None
    run = open_run(run_id or new_run_id(profile), config, Path(home))
    with recorded(run), serving(run):
        console.begin(run)
        proposer = coder = warm_start(run.run_id, home)
        evaluate_coder(run, 0, coder)
        for round in range(1, run.config.rounds + 1):
            proposer, coder = evolve_round(run.run_id, round, proposer, coder, home)
        curriculum_table(run)
        report = write_report(run)
        summary(run, report)
    console.end(run, report)
    return run.run_id
