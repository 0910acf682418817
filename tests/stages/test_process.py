"""A stage's process: what it answers, and what is said when it fails or is killed."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from kernelzero.config import load
from kernelzero.errors import UserError
from kernelzero.stages.process import StageFailed, run_stage
from kernelzero.stages.spec import StageSpec, derive_seed
from kernelzero.store.records import Run, Sample


def spec(kind: str, folder: Path, coder: str, **settings) -> StageSpec:
    config = load("smoke", ["verifier.workers=1", "evaluate.limit=2"]).model_dump(mode="json")
    return StageSpec(kind, "run", 1, config, str(folder / "stage"), str(folder / "x.duckdb"), 0, proposer=coder, coder=coder, **settings)


def test_an_evaluation_in_its_own_process(small_model, tmp_path):
    lines = []
    result = run_stage(spec("evaluate", tmp_path, str(small_model)), lines.append)
    assert [line["step"] for line in lines] == [2] and result.seconds > 0 and result.verifying_s > 0
    assert result.figures["mini pass@1"] == 0.0  # random weights write no kernel
    from kernelzero.store import Store
    samples = Store(tmp_path / "x.duckdb").rows(Sample, run_id="run")
    assert len(samples) == 4 and all(s.judgement_id for s in samples)


def test_bad_input_found_inside_comes_out_as_a_sentence(small_model, tmp_path):
    with pytest.raises(UserError, match="model folder .*nowhere does not exist"):
        run_stage(spec("evaluate", tmp_path, str(tmp_path / "nowhere")))


def test_a_proposer_that_writes_nothing_valid_stops_the_run_with_advice(small_model, tmp_path):
    from kernelzero.store import Store
    Store(tmp_path / "x.duckdb").write([Run("run", "smoke", 0, {}, "running")])
    with pytest.raises(UserError, match="no valid module in 24 completions.*validation_failures"):
        run_stage(spec("generate", tmp_path, str(small_model)))


def test_a_killed_stage_says_so_and_leaves_no_result(small_model, tmp_path):
    import psutil

    def kill():
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            for process in psutil.Process(os.getpid()).children(recursive=True):
                log = tmp_path / "stage" / "log.txt"
                if log.exists() and any(f.path == str(log) for f in process.open_files()):
                    process.send_signal(signal.SIGKILL)
                    return
            time.sleep(0.02)

    thread = threading.Thread(target=kill)
    thread.start()
    with pytest.raises(StageFailed, match="was killed by signal 9"):
        run_stage(spec("evaluate", tmp_path, str(small_model)))
    thread.join()
    assert not (tmp_path / "stage" / "result.json").exists()


def test_seeds_are_apart_and_repeat():
    seeds = {derive_seed(0, kind, round_) for kind in ("proposer", "coder") for round_ in range(50)}
    assert len(seeds) == 100 and all(0 <= seed < 2**31 for seed in seeds)
    assert derive_seed(0, "proposer", 1) == derive_seed(0, "proposer", 1) != derive_seed(1, "proposer", 1)
