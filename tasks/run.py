"""A run's handle: who it is, where it lives, and the services that its stages share."""

import os
import platform
import secrets
import time
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from filelock import FileLock, Timeout
from kernelzero_tasks.tracking import track_end

from kernelzero import keck
from kernelzero.config import Config, build
from kernelzero.errors import UserError
from kernelzero.store import Store
from kernelzero.store.records import Run

LIBRARIES = ("torch", "triton", "transformers", "trl", "prefect", "duckdb", "polars", "mlflow", "numpy")


@dataclass(frozen=True)
class RunHandle:
    """What a task needs to know of the run. home: the workspace with the database; folder: the run's own."""

    run_id: str
    config: Config
    home: Path

    @property
    def database(self) -> Path:
        return self.home / "kernelzero.duckdb"

    @property
    def folder(self) -> Path:
        return self.home / "runs" / self.run_id

    @property
    def keck(self) -> str:
        """Address of the run's verifier while this process serves it, else ''."""
        return _served.get(self.folder, "")

    @property
    def store(self) -> Store:
        return Store(self.database)


def environment() -> dict:
    """Versions and machine, as every run records them."""
    return {"python": platform.python_version(), "system": platform.system(), "machine": platform.machine(), "cores": os.cpu_count(),
            "keck": keck.KECK_VERSION, "kernelzero": version("kernelzero"), **{name: version(name) for name in LIBRARIES}}


def open_run(run_id: str, config: Config | None, home: Path) -> RunHandle:
    """A new run, or an old one to go on with; `config` None takes what was stored."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        store = Store(home / "kernelzero.duckdb")
        if config is None:
            stored = store.rows(Run, run_id=run_id)
            if not stored:
                raise UserError(f"there is no run {run_id} in {store.path}; `kernelzero runs` lists them")
            return RunHandle(run_id, build(stored[0].config), home)
        handle = RunHandle(run_id, config, home)
        handle.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot write into {home}: {error.strerror}; give another folder with --home") from None
    record(handle, "running")
    return handle


def record(handle: RunHandle, status: str, error: str = "") -> None:
    """The run's row: running | finished | failed."""
    config = handle.config
    handle.store.write([Run(handle.run_id, config.profile, config.seed, config.model_dump(mode="json"), status, str(handle.folder),
                            environment=environment(), error=error)])


def new_run_id(profile: str) -> str:
    """Sorts by time and can be read: 20261201-093012-tiny-3f2a."""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{Path(profile).stem}-{secrets.token_hex(2)}"


@contextmanager
def recorded(handle: RunHandle):
    """Nobody else works on this run, and its row says how it ended. The lock is the kernel's: free the moment its holder dies."""
    lock = FileLock(handle.folder / "run.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise UserError(f"run {handle.run_id} is being worked on by another process; wait for it, or start a new run") from None
    try:
        yield
    except BaseException as error:
        record(handle, "failed", str(error) or type(error).__name__)
        track_end(handle, "FAILED")
        raise
    else:
        record(handle, "finished")
        handle.store.publish()
        track_end(handle, "FINISHED")
    finally:
        lock.release()


@contextmanager
def serving(handle: RunHandle):
    """The verifier's pool, one process for all stages of the run; does nothing where this process serves the run already."""
    if handle.folder in _served:
        yield
        return
    settings = handle.config.verifier
    limits = keck.Limits(reference_s=settings.seconds, record_s=settings.seconds, replay_s=settings.seconds,
                         memory_mb=settings.memory_mb)
    with keck.running_service(workers=settings.workers, limits=limits) as address:
        _served[handle.folder] = address
        try:
            yield
        finally:
            del _served[handle.folder]


_served: dict[Path, str] = {}
