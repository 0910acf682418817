"""The HTML report of a run, as a task."""

from kernelzero_tasks.run import RunHandle
from prefect import task
from prefect.cache_policies import NO_CACHE


@task(name="report", task_run_name="report", cache_policy=NO_CACHE)
def write_report(run: RunHandle) -> str:
    """Path of the page."""
    from kernelzero.report import write_report as write  # matplotlib: loaded when a page is written

    path = run.folder / "report.html"
    write(run.store, run.run_id, path)
    return str(path)
