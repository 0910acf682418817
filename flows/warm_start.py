"""The base model that both roles start from: trained once, then taken from the cache."""

from pathlib import Path

from kernelzero_tasks.run import open_run
from kernelzero_tasks.warm_start import base_model
from prefect import flow


@flow(name="warm-start", flow_run_name="warm start of {run_id}")
def warm_start(run_id: str, home: str = ".kernelzero") -> str:
    """Folder of the base model of a run."""
    return base_model(open_run(run_id, None, Path(home)))
