"""MLflow on an embedded SQLite database in the workspace: what a run, its stages and its checkpoints are there.

Runs are found by their tags, so a resumed run goes on in its own MLflow run, a step that is logged already is not logged
again (it keeps its first value), and a checkpoint is registered once. No server, no autologging, and no file is copied: a
model version points at the checkpoint's folder. The database of `kernelzero.store` is the truth; nothing is read from here.

Aliases of a registered model: `round-N` is that round's checkpoint that was registered last, whichever run made it;
`RUN_ID-round-N` is that run's own, and no other run takes it. The version's tag `kernelzero.run_id` says whose it is.
"""

import json
import logging
import os
import re
import time
from functools import cached_property
from pathlib import Path

from kernelzero.errors import UserError

EXPERIMENT = "kernelzero"
RUN_TAG, STAGE_TAG, DIGEST_TAG = "kernelzero.run_id", "kernelzero.stage", "kernelzero.digest"
METRICS_A_CALL, PARAMS_A_CALL, PARAM_LENGTH = 1000, 100, 500  # the first two are MLflow's limits


class Tracker:
    """One KernelZero run in MLflow. home: the workspace; config: the run's settings, logged as parameters of the parent run.

    Look at it with `mlflow ui --backend-store-uri sqlite:///HOME/mlflow.db`. UserError when that file cannot be used.
    """

    def __init__(self, home: str | Path, run_id: str, config: dict):
        self.home, self.run_id, self.config = Path(home).absolute(), run_id, config

    @property
    def uri(self) -> str:
        return f"sqlite:///{self.home / 'mlflow.db'}"

    @cached_property
    def client(self):
        """MLflow's own client. Its first use imports MLflow (seconds) and makes the tables where there are none."""
        return _connect(self.home, self.uri)

    @cached_property
    def experiment_id(self) -> str:
        found = self.client.get_experiment_by_name(EXPERIMENT)
        return found.experiment_id

    @cached_property
    def parent(self) -> str:
        """Id of the parent run, made when it is not there; a run that goes on is RUNNING again."""
        found = self._find("run")
        if found:
            self.client.update_run(found, status="RUNNING")
        else:
            tags = {RUN_TAG: self.run_id, STAGE_TAG: "run"}
            found = self.client.create_run(self.experiment_id, run_name=self.run_id, tags=tags).info.run_id
        known = self.client.get_run(found).data.params
        self._log(found, params={name: text for name, text in flatten(self.config).items() if name not in known})
        return found

    def stage(self, round: int, stage: str, metrics: list[tuple[str, int, float]], seconds: float) -> str:
        """Id of the child run of a stage, finished, with the (name, step, value) metrics that it did not have yet."""
        name = f"round {round} {stage}"
        child = self._find(name)
        if not child:
            tags = {RUN_TAG: self.run_id, STAGE_TAG: name, "mlflow.parentRunId": self.parent}
            child = self.client.create_run(self.experiment_id, run_name=name, tags=tags).info.run_id
        known = self.client.get_run(child).data.metrics
        logged = {(point.key, point.step) for each in known for point in self.client.get_metric_history(child, each)}
        fresh = {}
        for metric, step, value in metrics:
            key = (metric_name(metric), step)
            if key not in logged:
                fresh.setdefault(key, value)
        if "seconds" not in known:
            fresh["seconds", 0] = seconds
        self._log(child, metrics=[(*key, value) for key, value in fresh.items()])
        self.client.set_terminated(child, "FINISHED")
        return child

    def register(self, role: str, folder: str | Path, digest: str, round: int, child: str) -> str:
        """Version of the model kernelzero-ROLE for a checkpoint folder, under the aliases of its round.

        Repeating with the same digest changes nothing, and does not take `round-N` back from a newer run; another digest (a
        stage that was done again) is a new version under both aliases.
        """
        model = f"kernelzero-{role}"
        self._make_model(model)
        known = [v for v in self.client.search_model_versions(f"name = '{model}' and tags.`{RUN_TAG}` = '{self.run_id}'")
                 if v.tags.get(DIGEST_TAG) == digest and v.tags.get("round") == str(round)]
        version = known[0] if known else self.client.create_model_version(
            model, Path(folder).absolute().as_uri(), child,
            tags={RUN_TAG: self.run_id, DIGEST_TAG: digest, "round": str(round)})
        number = str(version.version)
        own = f"{re.sub(r'[^A-Za-z0-9_-]', '-', self.run_id)}-round-{round}"
        if str(self.client.get_registered_model(model).aliases.get(own)) != number:
            # round-N first: after a kill between the two, the own alias is missing and both are set again
            self.client.set_registered_model_alias(model, f"round-{round}", number)
            self.client.set_registered_model_alias(model, own, number)
        return number

    def close(self, status: str) -> None:
        """End the parent run: FINISHED or FAILED."""
        self.client.set_terminated(self.parent, status)

    def _find(self, stage: str) -> str | None:
        where = f"tags.`{RUN_TAG}` = '{self.run_id}' and tags.`{STAGE_TAG}` = '{stage}'"
        found = self.client.search_runs([self.experiment_id], where, max_results=1)
        return found[0].info.run_id if found else None

    def _make_model(self, model: str) -> None:
        from mlflow.exceptions import MlflowException

        try:
            self.client.create_registered_model(model)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise

    def _log(self, run: str, metrics: list = (), params: dict | None = None) -> None:
        from mlflow.entities import Metric, Param

        now = int(time.time() * 1000)
        points = [Metric(name, float(value), now, step) for name, step, value in metrics]
        settings = [Param(name, text) for name, text in (params or {}).items()]
        for start in range(0, len(points), METRICS_A_CALL):
            self.client.log_batch(run, metrics=points[start : start + METRICS_A_CALL])
        for start in range(0, len(settings), PARAMS_A_CALL):
            self.client.log_batch(run, params=settings[start : start + PARAMS_A_CALL])


def metric_name(name: str) -> str:
    """A name that MLflow takes: `pass@1` becomes `pass_at_1`, other signs that it refuses `_`."""
    return re.sub(r"[^A-Za-z0-9_\-. :/]", "_", name.replace("@", "_at_"))


def flatten(values: dict, prefix: str = "") -> dict[str, str]:
    """Nested settings as dotted names with text values, cut to a length that MLflow shows."""
    flat = {}
    for name, value in values.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{name}.")
        else:
            text = value if isinstance(value, str) else json.dumps(value, default=str)
            flat[f"{prefix}{name}"] = text[:PARAM_LENGTH]
    return flat


def _connect(home: Path, uri: str):
    """The client, with the tables and the experiment in place; one process at a time, since two would both make the tables."""
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"  # both are read when MLflow is imported
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "ERROR")
    import filelock
    import mlflow
    from sqlalchemy.exc import SQLAlchemyError

    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        home.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(home / "mlflow.lock", timeout=60):
            client = mlflow.MlflowClient(tracking_uri=uri, registry_uri=uri)
            if client.get_experiment_by_name(EXPERIMENT) is None:
                client.create_experiment(EXPERIMENT, artifact_location=(home / "mlflow").as_uri())
    except (OSError, filelock.Timeout) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"cannot keep MLflow's records in {home}: {reason}; choose a folder that you may write to") from error
    except (SQLAlchemyError, mlflow.MlflowException) as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"MLflow cannot use {home / 'mlflow.db'} ({reason}); move that file away, it is made again") from error
    return client
