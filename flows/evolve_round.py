"""One round: Proposer GRPO, module generation and validation, Coder CA-GRPO, evaluation."""

from pathlib import Path

from kernelzero_tasks.artifacts import curriculum_table
from kernelzero_tasks.run import open_run, serving
from kernelzero_tasks.stages import coder_grpo, evaluate_coder, generate_modules, proposer_grpo
from prefect import flow


@flow(name="evolve-round", flow_run_name="round {round} of {run_id}")
def evolve_round(run_id: str, round: int, proposer: str, coder: str, home: str = ".kernelzero") -> tuple[str, str]:
    """The checkpoints (Proposer, Coder) after the round; takes the folders of those before it."""
    run = open_run(run_id, None, Path(home))
    with serving(run):
        proposer = proposer_grpo(run, round, proposer, coder)
        generate_modules(run, round, proposer)
        coder = coder_grpo(run, round, coder)
        evaluate_coder(run, round, coder)
    curriculum_table(run, f"curriculum-round-{round}")
    return proposer, coder
