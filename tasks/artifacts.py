"""What the Prefect page of a run shows: a table a round and a stage, and a summary at the end."""

from kernelzero_tasks.run import RunHandle
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.context import FlowRunContext

from kernelzero.stages.spec import StageSpec


def _in_flow() -> bool:
    return FlowRunContext.get() is not None


def stage_table(run: RunHandle, spec: StageSpec) -> None:
    """Step metrics of a finished stage, a row a step."""
    if not _in_flow() or spec.kind in ("warm_start", "evaluate"):
        return
    metrics = run.store.query("select step, name, value from metrics where run_id = ? and round = ? and stage = ? order by step, name",
                              [run.run_id, spec.round, spec.kind])
    if metrics.is_empty():
        return
    wide = metrics.pivot("name", index="step", values="value")
    rows = [{k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()} for row in wide.to_dicts()]
    create_table_artifact(rows, key=f"round-{spec.round}-{spec.kind}", description=f"Step metrics of the {spec.name}")


def curriculum_table(run: RunHandle, key: str = "curriculum") -> None:
    """The table a round, round 0 first."""
    if not _in_flow():
        return
    rows = run.store.named("curriculum", run_id=run.run_id).to_dicts()
    create_table_artifact([{k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()} for row in rows], key=key,
                          description=f"Run {run.run_id}, a line a round")


def summary(run: RunHandle, report: str) -> None:
    if _in_flow():
        create_markdown_artifact(f"**Run {run.run_id}**\n\n- database: `{run.database}`\n- report: `{report}`\n"
                                 f"- checkpoints: `{run.folder}`\n", key="summary", description="Where everything is")
