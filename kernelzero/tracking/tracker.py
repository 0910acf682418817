"""MLflow on an embedded SQLite database in the workspace: what a run, its stages and its checkpoints are there.

Runs are found by their tags, so a resumed run goes on in its own MLflow run, a step that is logged already is not logged again,
and a checkpoint is registered once. The alias `round-N` of a registered model names that round of the newest run that reached it;
the version's tag `kernelzero.run_id` says whose it is.
"""

import logging
import os
from functools import cached_property
from pathlib import Path

EXPERIMENT = "kernelzero"
RUN_TAG, STAGE_TAG, DIGEST_TAG = "kernelzero.run_id", "kernelzero.stage", "kernelzero.digest"


class Tracker:
    """One KernelZero run in MLflow. home: the workspace; config: the run's settings, logged as parameters of the parent run."""

    def __init__(self, home: str | Path, run_id: str, config: dict):
        self.home, self.run_id, self.config = Path(home).absolute(), run_id, config

    @cached_property
    def client(self):
        os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
        logging.getLogger("alembic").setLevel(logging.ERROR)
        logging.getLogger("mlflow").setLevel(logging.ERROR)
        from mlflow import MlflowClient
        uri = f"sqlite:///{self.home / 'mlflow.db'}"
        return MlflowClient(tracking_uri=uri, registry_uri=uri)

    @cached_property
    def experiment_id(self) -> str:
        found = self.client.get_experiment_by_name(EXPERIMENT)
        return found.experiment_id if found else self.client.create_experiment(EXPERIMENT, artifact_location=(self.home / "mlflow").as_uri())

    @cached_property
    def parent(self) -> str:
        """Id of the parent run, made when it is not there; a run that goes on is RUNNING again."""
        found = self._find(f"tags.`{RUN_TAG}` = '{self.run_id}' and tags.`{STAGE_TAG}` = 'run'")
        if found:
            self.client.update_run(found, status="RUNNING")
            return found
        run = self.client.create_run(self.experiment_id, run_name=self.run_id, tags={RUN_TAG: self.run_id, STAGE_TAG: "run"})
        self._log(run.info.run_id, params=_flat(self.config))
        return run.info.run_id

    def stage(self, round: int, stage: str, metrics: list[tuple[str, int, float]], seconds: float) -> str:
        """Id of the child run of a stage, finished, with the (name, step, value) metrics that it did not have yet."""
        name = f"round {round} {stage}"
        child = self._find(f"tags.`{RUN_TAG}` = '{self.run_id}' and tags.`{STAGE_TAG}` = '{name}'")
        if not child:
            tags = {RUN_TAG: self.run_id, STAGE_TAG: name, "mlflow.parentRunId": self.parent}
            child = self.client.create_run(self.experiment_id, run_name=name, tags=tags).info.run_id
        metrics = [(_name(metric), step, value) for metric, step, value in metrics]
        logged = {metric: {m.step for m in self.client.get_metric_history(child, metric)} for metric in {m[0] for m in metrics}}
        fresh = [m for m in metrics if m[1] not in logged[m[0]]]
        self._log(child, metrics=[*fresh, *([] if "seconds" in self.client.get_run(child).data.metrics else [("seconds", 0, seconds)])])
        self.client.set_terminated(child, "FINISHED")
        return child

    def register(self, role: str, folder: str, digest: str, round: int, child: str) -> str:
        """Version of the registered model kernelzero-ROLE for a checkpoint folder, with the alias of its round. Repeating changes nothing."""
        from mlflow.exceptions import MlflowException
        model = f"kernelzero-{role}"
        try:
            self.client.create_registered_model(model)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        known = [v for v in self.client.search_model_versions(f"name = '{model}'")
                 if v.tags.get(RUN_TAG) == self.run_id and v.tags.get(DIGEST_TAG) == digest and v.tags.get("round") == str(round)]
        version = known[0] if known else self.client.create_model_version(
            model, Path(folder).absolute().as_uri(), child, tags={RUN_TAG: self.run_id, DIGEST_TAG: digest, "round": str(round)})
        self.client.set_registered_model_alias(model, f"round-{round}", version.version)
        return str(version.version)

    def close(self, status: str) -> None:
        """End the parent run: FINISHED or FAILED."""
        self.client.set_terminated(self.parent, status)

    def _find(self, where: str) -> str | None:
        found = self.client.search_runs([self.experiment_id], where, max_results=1)
        return found[0].info.run_id if found else None

    def _log(self, run: str, metrics=(), params=None) -> None:
        import time

        from mlflow.entities import Metric, Param
        now = int(time.time() * 1000)
        rows = [Metric(name, value, now, step) for name, step, value in metrics]
        self.client.log_batch(run, metrics=rows[:1000], params=[Param(k, str(v)[:500]) for k, v in (params or {}).items()])
        for start in range(1000, len(rows), 1000):
            self.client.log_batch(run, metrics=rows[start:start + 1000])


def _name(metric: str) -> str:
    return metric.replace("@", "_at_")


def _flat(config: dict, prefix: str = "") -> dict:
    flat = {}
    for key, value in config.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat
