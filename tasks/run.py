"""A run's handle: who it is, where it lives, and the services that its stages share."""

import json
import os
import platform
import secrets
import time
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from filelock import FileLock, Timeout

from kernelzero import keck
from kernelzero.config import Config, build
from kernelzero.errors import UserError
from kernelzero.store import Store
from kernelzero.store.records import Run
from kernelzero_tasks.tracking import track_end

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
    def keck(self) -> Path:
        """File with the address and the key of the run's verifier, while it is served."""
        return self.folder / "keck.json"

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
            stored = store.query("select config from runs where run_id = ?", [run_id]).to_dicts()
            if not stored:
                raise UserError(f"there is no run {run_id} in {store.path}; `kernelzero runs` lists them")
            return RunHandle(run_id, build(json.loads(stored[0]["config"])), home)
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
    if handle.keck in _served:
        yield
        return
    settings = handle.config.verifier
    authkey = secrets.token_bytes(16)
    limits = keck.Limits(seconds=settings.seconds, memory_mb=settings.memory_mb)
    with keck.running_service(workers=settings.workers, limits=limits, authkey=authkey) as address:
        handle.keck.touch(mode=0o600)
        handle.keck.write_text(json.dumps({"address": address, "authkey": authkey.hex()}))
        _served.add(handle.keck)
        try:
            yield
        finally:
            _served.discard(handle.keck)
            handle.keck.unlink(missing_ok=True)


_served: set[Path] = set()
