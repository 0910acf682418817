"""A real MLflow on a SQLite file: nothing doubled when a run is taken up again, models and aliases, quiet."""

import os
import subprocess
import sys

import pytest

from kernelzero.errors import UserError
from kernelzero.tracking import Tracker
from kernelzero.tracking.tracker import flatten, metric_name


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """One database for the module: making it takes seconds. The name has a blank, as a user's folder may."""
    return tmp_path_factory.mktemp("mlflow home")


def runs(tracker):
    """MLflow's runs of a tracker's run by their stage tag."""
    found = tracker.client.search_runs([tracker.experiment_id], f"tags.`kernelzero.run_id` = '{tracker.run_id}'")
    assert len({run.data.tags["kernelzero.stage"] for run in found}) == len(found), "a stage has two runs"
    return {run.data.tags["kernelzero.stage"]: run for run in found}


def steps(tracker, child, name):
    return [(point.step, point.value) for point in tracker.client.get_metric_history(child, name)]


def test_a_parent_a_run_and_a_child_a_stage(home):
    tracker = Tracker(home, "tree", {"seed": 3, "coder": {"steps": 2, "backends": ["triton"]}})
    tracker.stage(1, "coder", [("loss", 1, 1.0), ("loss", 2, 0.5)], seconds=7)
    tracker.stage(1, "evaluate", [("mini/pass@1", 1, 0.25)], seconds=2)
    assert runs(tracker)["run"].info.status == "RUNNING"
    tracker.close("FINISHED")
    found = runs(tracker)
    assert set(found) == {"run", "round 1 coder", "round 1 evaluate"}
    assert found["run"].data.params == {"seed": "3", "coder.steps": "2", "coder.backends": '["triton"]'}
    coder = found["round 1 coder"]
    assert coder.data.tags["mlflow.parentRunId"] == tracker.parent and coder.data.metrics == {"loss": 0.5, "seconds": 7}
    assert steps(tracker, coder.info.run_id, "loss") == [(1, 1.0), (2, 0.5)]
    assert found["round 1 evaluate"].data.metrics == {"mini/pass_at_1": 0.25, "seconds": 2}
    assert {run.info.status for run in found.values()} == {"FINISHED"}


def test_a_resumed_run_doubles_nothing(home):
    first = Tracker(home, "resumed", {"seed": 3})
    child = first.stage(1, "coder", [("loss", 1, 1.0), ("loss", 2, 0.5)], seconds=7)
    first.close("FAILED")
    second = Tracker(home, "resumed", {"seed": 3, "rounds": 4})  # as a new process has it: nothing in memory
    assert second.parent == first.parent and runs(second)["run"].info.status == "RUNNING"
    assert second.stage(1, "coder", [("loss", 1, 1.0), ("loss", 2, 0.75), ("loss", 3, 0.25)], seconds=9) == child
    assert steps(second, child, "loss") == [(1, 1.0), (2, 0.5), (3, 0.25)] and steps(second, child, "seconds") == [(0, 7)]
    assert set(runs(second)) == {"run", "round 1 coder"}
    assert runs(second)["run"].data.params == {"seed": "3", "rounds": "4"}


def test_more_than_one_call_holds(home):
    tracker = Tracker(home, "many", {f"p{i}": i for i in range(150)})
    child = tracker.stage(1, "coder", [("loss", i, float(i)) for i in range(1500)], seconds=1)
    assert len(steps(tracker, child, "loss")) == 1500 and len(runs(tracker)["run"].data.params) == 150


def test_models_and_aliases(home, tmp_path):
    folder = tmp_path / "round 1" / "coder"
    folder.mkdir(parents=True)
    tracker = Tracker(home, "model.run", {})
    child = tracker.stage(1, "coder", [], seconds=1)
    version = tracker.register("coder", folder, "d1", 1, child)
    assert Tracker(home, "model.run", {}).register("coder", folder, "d1", 1, child) == version
    found = tracker.client.get_model_version_by_alias("kernelzero-coder", "round-1")
    assert str(found.version) == version and found.source == folder.as_uri() and found.run_id == child
    assert found.tags == {"kernelzero.run_id": "model.run", "round": "1", "kernelzero.digest": "d1"}

    # another run takes round-1, the first keeps its own alias, and resuming the first does not take round-1 back
    second = Tracker(home, "other", {})
    other = second.register("coder", folder, "d9", 1, second.stage(1, "coder", [], seconds=1))
    assert tracker.register("coder", folder, "d1", 1, child) == version != other
    assert aliases(tracker) == {"round-1": other, "model-run-round-1": version, "other-round-1": other}

    # a repeated stage with other weights is a new version under both aliases
    again = second.register("coder", folder, "d10", 1, second.stage(1, "coder", [], seconds=1))
    assert again not in (version, other) and aliases(tracker)["round-1"] == aliases(tracker)["other-round-1"] == again
    assert second.register("proposer", folder, "d2", 1, child) == "1"


def aliases(tracker):
    found = tracker.client.get_registered_model("kernelzero-coder").aliases
    return {alias: str(version) for alias, version in found.items()}


def test_a_registered_checkpoint_is_found_where_it_lies(home, tmp_path):
    import mlflow

    (tmp_path / "weights").write_text("w")
    tracker = Tracker(home, "lies", {})
    tracker.register("coder", tmp_path, "d", 7, tracker.stage(7, "coder", [], seconds=1))
    mlflow.set_tracking_uri(tracker.uri)
    assert mlflow.artifacts.download_artifacts("models:/kernelzero-coder@lies-round-7").rstrip("/") == str(tmp_path)


def test_a_file_that_is_no_database(tmp_path):
    (tmp_path / "mlflow.db").write_bytes(b"x" * 5000)
    with pytest.raises(UserError, match=r"MLflow cannot use .*mlflow.db .*move that file away") as caught:
        _ = Tracker(tmp_path, "r", {}).parent
    assert "\n" not in str(caught.value)


def test_a_home_that_is_a_file(tmp_path):
    (tmp_path / "home").write_text("x")
    with pytest.raises(UserError, match="cannot keep MLflow's records"):
        _ = Tracker(tmp_path / "home", "r", {}).parent


def test_quiet_and_lazy(tmp_path):
    """Importing loads no MLflow; making a database prints nothing and leaves nothing in the working folder."""
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    code = ("import sys\nfrom kernelzero.tracking import Tracker\nassert not {'mlflow', 'torch'} & set(sys.modules)\n"
            f"Tracker({str(home)!r}, 'quiet', {{'seed': 1}}).close('FINISHED')\n"
            "import os; assert os.environ['MLFLOW_DISABLE_TELEMETRY'] == 'true'\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=work, env=environment, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(work.iterdir()) == [] and (home / "mlflow.db").exists()


def test_names_and_settings():
    assert metric_name("fast_1.0@1") == "fast_1.0_at_1" and metric_name("a/b c%") == "a/b c_"
    assert flatten({"a": {"b": {"c": 1}}, "d": "text", "e": None, "f": "x" * 7000}) == {
        "a.b.c": "1", "d": "text", "e": "null", "f": "x" * 500}
