"""A stage in a process of its own: started from a fork server, watched, and answered by a file.

The process dies with its parent (PR_SET_PDEATHSIG), writes what it prints to `log.txt` in the stage's folder and its progress, a JSON
line a step, to `progress.jsonl`. A stage that was killed leaves no result, which is how the parent knows.
"""

import ctypes
import json
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from kernelzero.errors import UserError
from kernelzero.stages.spec import StageResult, StageSpec, read_spec, write_json

PR_SET_PDEATHSIG = 1


class StageFailed(Exception):
    """A stage ended without a result; the sentence says how, and where its log is."""


def run_stage(spec: StageSpec, on_progress: Callable[[dict], None] = lambda line: None) -> StageResult:
    """Run the stage and return its result. Raises UserError for bad input found inside, StageFailed for anything else."""
    folder = Path(spec.folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("result.json", "error.json", "progress.jsonl"):
        (folder / name).unlink(missing_ok=True)
    write_json(spec, folder / "spec.json")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["kernelzero.stages.preload"])
    process = context.Process(target=child, args=(str(folder), os.getpid()), name=spec.name)
    process.start()
    try:
        _watch(process, folder / "progress.jsonl", on_progress)
    finally:
        if process.is_alive():  # a timeout, a cancel or Ctrl-C: the stage goes with us
            process.terminate()
            process.join(10)
            process.kill()
    if (folder / "result.json").is_file():
        return StageResult(**json.loads((folder / "result.json").read_text()))
    raise _failure(spec, process.exitcode, folder)


def _watch(process, progress: Path, on_progress: Callable[[dict], None]) -> None:
    seen = 0
    while True:
        process.join(0.25)
        alive = process.is_alive()
        if progress.is_file():
            lines = progress.read_text().splitlines(keepends=True)
            for line in lines[seen:]:
                if not line.endswith("\n"):
                    break
                on_progress(json.loads(line))
                seen += 1
        if not alive:
            return


def _failure(spec: StageSpec, exitcode: int | None, folder: Path) -> Exception:
    if (folder / "error.json").is_file():
        error = json.loads((folder / "error.json").read_text())
        if error["user"]:
            return UserError(error["message"])
        return StageFailed(f"the {spec.name} failed: {error['message']} (log: {folder / 'log.txt'})")
    how = f"was killed by signal {-exitcode} ({signal.Signals(-exitcode).name})" if exitcode and exitcode < 0 else f"ended with status {exitcode}"
    return StageFailed(f"the {spec.name} {how}; start the run again under the same id to continue it (log: {folder / 'log.txt'})")


def child(folder: str, parent: int) -> None:
    """Entry of the stage's process."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    folder = Path(folder)
    with (folder / "log.txt").open("a") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    spec = read_spec(folder / "spec.json")
    threads = int(os.environ.get("KERNELZERO_THREADS", "0")) or (os.cpu_count() or 1)
    try:
        import torch

        from kernelzero.stages.context import Context

        torch.set_num_threads(threads)
        started = time.perf_counter()
        with Context(spec) as context:
            result = _function(spec.kind)(context)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        clock = context.clock
        write_json({**result, "seconds": time.perf_counter() - started, "peak_memory_mb": memory, "sampling_s": clock.sampling_s,
                    "verifying_s": clock.verifying_s, "training_s": clock.training_s}, folder / "result.json")
    except Exception as error:
        traceback.print_exc()
        message = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        write_json({"user": isinstance(error, UserError), "message": message}, folder / "error.json")
        sys.stderr.flush()
        os._exit(1)


def _function(kind: str) -> Callable:
    if kind == "warm_start":
        from kernelzero.stages.base import run
    elif kind == "proposer":
        from kernelzero.stages.proposer import run
    elif kind == "generate":
        from kernelzero.stages.generate import run
    elif kind == "coder":
        from kernelzero.stages.coder import run
    elif kind == "evaluate":
        from kernelzero.stages.evaluate import run
    else:
        raise ValueError(f"unknown stage {kind}")
    return run


def discard(folder: Path) -> None:
    """Remove a stage's working folder: trainer checkpoints that a finished stage needs no more."""
    shutil.rmtree(folder, ignore_errors=True)
