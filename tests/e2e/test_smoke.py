"""The whole `smoke` profile through the front door: real models, real kernels, Prefect, DuckDB, MLflow; twice, and it is the same.

The two runs live in two workspaces; the second one takes the base model from a copy of the first one's cache.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kernelzero.store import Store
from kernelzero.store.records import Checkpoint, Evaluation, Proposal, Run, Sample, StageRun, Validation

KERNELZERO = Path(sys.executable).with_name("kernelzero")


def kernelzero(*arguments: str, cwd: Path, status: int = 0) -> str:
    done = subprocess.run([KERNELZERO, *arguments], cwd=cwd, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL,
                          env={**os.environ, "COLUMNS": "200"})
    assert done.returncode == status, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout + done.stderr


@pytest.fixture(scope="session")
def first(tmp_path_factory):
    folder = tmp_path_factory.mktemp("first")
    return folder, kernelzero("run", "--profile", "smoke", "--run-id", "one", cwd=folder)


@pytest.fixture(scope="session")
def second(first, tmp_path_factory):
    folder = tmp_path_factory.mktemp("second")
    shutil.copytree(first[0] / ".kernelzero" / "cache", folder / ".kernelzero" / "cache")
    return folder, kernelzero("run", "--profile", "smoke", "--run-id", "two", cwd=folder)


def store(run) -> Store:
    return Store(run[0] / ".kernelzero" / "kernelzero.duckdb")


@pytest.mark.timeout(900)
def test_the_screen_tells_what_happens(first):
    _, screen = first
    for words in ("run one", "warm start", "round 1/2", "Proposer GRPO", "generation", "Coder CA-GRPO", "evaluation", "pass@1", "roofline",
                  "frontier", "report", "next: `kernelzero sql"):
        assert words in screen, screen
    assert "Traceback" not in screen and "Warning" not in screen


def test_every_stage_is_finished_and_has_its_rows(first):
    found = store(first)
    (run,) = found.rows(Run, run_id="one")
    assert run.status == "finished" and run.environment["torch"] and run.config["rounds"] == 2
    stages = {(s.round, s.stage): s for s in found.rows(StageRun, run_id="one")}
    assert set(stages) == {(0, "warm_start"), (0, "evaluate")} | {(r, s) for r in (1, 2) for s in ("proposer", "generate", "coder", "evaluate")}
    assert all(s.status == "finished" and s.seconds > 0 for s in stages.values())
    assert len(found.rows(Proposal, run_id="one")) == 2 * 2 * 4
    train = found.rows(Sample, run_id="one", role="train")
    assert len(train) == 2 * 4 * 4 and all(s.advantage is not None and (s.judgement_id or s.not_judged) for s in train)
    assert all(row.valid or row.reason for row in found.rows(Validation, run_id="one"))
    assert {e.round for e in found.rows(Evaluation, run_id="one", metric="pass@1")} == {0, 1, 2}


def test_models_were_really_trained(first):
    digests = {(c.round, c.role): c.digest for c in store(first).rows(Checkpoint, run_id="one")}
    assert {(r, role) for r in (1, 2) for role in ("proposer", "coder")} <= digests.keys()
    assert len(set(digests.values())) == len(digests)


def test_mlflow_holds_runs_metrics_and_models(first):
    from kernelzero.tracking import Tracker
    tracker = Tracker(first[0] / ".kernelzero", "one", {})
    runs = tracker.client.search_runs([tracker.experiment_id])
    assert {r.info.status for r in runs} == {"FINISHED"} and len(runs) == 11
    parent = next(r for r in runs if r.data.tags["kernelzero.stage"] == "run")
    assert all(r.data.tags.get("mlflow.parentRunId") == parent.info.run_id for r in runs if r is not parent)
    digests = {(c.round, c.role): c.digest for c in store(first).rows(Checkpoint, run_id="one")}
    for role in ("proposer", "coder"):
        for round_ in (1, 2):
            version = tracker.client.get_model_version_by_alias(f"kernelzero-{role}", f"round-{round_}")
            assert version.tags["kernelzero.digest"] == digests[round_, role]


def test_the_same_seed_gives_the_same_modules_kernels_and_judgements(first, second):
    from kernelzero.store.records import JudgementRow, Kernel, Metric, Module
    a, b = store(first), store(second)
    assert {m.module_id for m in a.rows(Module)} == {m.module_id for m in b.rows(Module)}
    assert {k.kernel_id for k in a.rows(Kernel)} == {k.kernel_id for k in b.rows(Kernel)}
    judged = [{j.judgement_id: (j.stage, j.reason, j.correct, j.max_error, j.speedup) for j in s.rows(JudgementRow)} for s in (a, b)]
    assert judged[0] == judged[1] and len(judged[0]) > 20
    for kind in (Sample, Proposal, Metric, Evaluation):
        rows = [[{**vars(row), "run_id": ""} for row in s.rows(kind)] for s in (a, b)]
        assert rows[0] == rows[1] and rows[0]
    weights = [{(c.round, c.role): c.digest for c in s.rows(Checkpoint)} for s in (a, b)]
    assert weights[0].items() >= {k: v for k, v in weights[1].items() if k[0]}.items()


def test_a_finished_run_is_not_done_again(first):
    before = len(store(first).rows(Sample))
    screen = kernelzero("run", "--profile", "", "--run-id", "one", cwd=first[0])
    assert screen.count("done already") == 9 and len(store(first).rows(Sample)) == before


def test_the_commands_that_the_last_screen_names(first):
    folder, _ = first
    assert "one" in kernelzero("runs", cwd=folder)
    listed = kernelzero("sql", "--list", cwd=folder)
    assert len(re.findall(r"\?", listed)) >= 10
    assert "frontier_occupancy" in kernelzero("sql", "curriculum", cwd=folder)
    sample = store(first).rows(Sample, run_id="one", role="train")[0]
    assert "class Model(nn.Module)" in kernelzero("show", sample.module_id[:12], cwd=folder)
    assert "its verdicts" in kernelzero("show", sample.kernel_id, cwd=folder)
    page = (folder / ".kernelzero" / "runs" / "one" / "report.html").read_text()
    assert "<svg" in page and "http://" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace("http://creativecommons.org", "")


def test_no_process_is_left(first, second):
    import psutil
    folders = (str(first[0]), str(second[0]))
    left = [p for p in psutil.process_iter(["cmdline", "cwd"]) if any(str(part).startswith(folders) for part in [p.info["cwd"] or "", *(p.info["cmdline"] or [])])]
    assert left == []
