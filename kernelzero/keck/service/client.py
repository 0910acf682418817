"""The client of a verifier's service: the same methods as `Verifier`, answered by a process that many stages share."""

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Client
from pathlib import Path

from kernelzero.keck.confine.limits import Limits
from kernelzero.keck.judge.verdict import Task, Verdict
from kernelzero.keck.reference.runs import ModuleJob, ModuleRun


def write_private(path: Path, data: bytes) -> None:
    """A file of mode 0600, new."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(data)


class RemoteVerifier:
    """The same methods as `Verifier`, answered by a service. Thread-safe: calls of one object take turns."""

    def __init__(self, address: str, authkey: bytes | None = None, timeout_s: float = 120.0):
        self.address, self.authkey, self.timeout_s = address, authkey, timeout_s
        self.lock = threading.RLock()
        self.connection = self._open()

    def _open(self):
        deadline = time.monotonic() + self.timeout_s
        while True:
            try:
                key = self.authkey or Path(f"{self.address}.key").read_bytes()
                return Client(self.address, "AF_UNIX", authkey=key)
            except (FileNotFoundError, ConnectionError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def _ask(self, kind: str, body) -> Iterator:
        with self.lock:
            self.connection.send((kind, body))
            finished = False
            try:
                while True:
                    what, answer = self.connection.recv()
                    if what in ("done", "error"):
                        finished = True
                        if what == "error":
                            raise RuntimeError(f"the verifier's service failed: {answer}")
                        return
                    yield answer
            finally:
                if not finished:  # answers that nobody will read must not meet the next request
                    self.connection.close()
                    self.connection = self._open()

    def verify(self, tasks: list[Task]) -> list[Verdict]:
        tasks = list(tasks)
        found = dict(self.verify_iter(tasks))
        return [found[i] for i in range(len(tasks))]

    def verify_iter(self, tasks: Iterable[Task]) -> Iterator[tuple[int, Verdict]]:
        """(index, verdict) as they finish. What a service that dies had not answered is `not judged, retry`."""
        tasks = list(tasks)
        missing = set(range(len(tasks)))
        try:
            for index, verdict in self._ask("verify", tasks):
                missing.discard(index)
                yield index, verdict
        except (EOFError, OSError) as error:
            for index in sorted(missing):
                yield index, Verdict(not_judged=f"the verifier's service is gone: {error}", retry=True)

    def run_modules(self, jobs: list[ModuleJob]) -> list[ModuleRun]:
        from kernelzero.keck.references import Reference, decode_run, read_case

        runs = []
        for cases, failed, detail, passed_by, job, seconds, fault in self._ask("modules", list(jobs)):
            reference = Reference([read_case(h, memoryview(b)) for h, b in cases], failed, detail, passed_by)
            runs.append(decode_run((reference, job, seconds, fault)))
        return runs

    def about(self) -> dict:
        return next(iter(list(self._ask("about", None))))

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> "RemoteVerifier":
        return self

    def __exit__(self, *_) -> None:
        self.close()


def connect(address: str, authkey: bytes | None = None, timeout_s: float = 120.0) -> RemoteVerifier:
    """A client of the service at `address`; waits up to `timeout_s` for it to come up. authkey: default the key beside
    the socket.
    """
    return RemoteVerifier(str(address), authkey, timeout_s)


@contextlib.contextmanager
def running_service(workers: int = 2, limits: Limits | None = None, authkey: bytes | None = None) -> Iterator[str]:
    """A service of this process's own for the length of the block; yields its address. It also ends when this process
    dies.
    """
    folder = Path(tempfile.mkdtemp(prefix="keck-"))  # mode 0700
    address = str(folder / "socket")
    write_private(Path(f"{address}.key"), authkey or secrets.token_bytes(32))
    root = str(Path(__file__).resolve().parents[3])
    path = os.pathsep.join(p for p in (root, os.environ.get("PYTHONPATH", "")) if p)
    command = [
        sys.executable,
        "-m",
        "kernelzero.keck.service.server",
        "--address",
        address,
        "--workers",
        str(workers),
        "--parent",
        str(os.getpid()),
        "--limits",
        json.dumps((limits or Limits()).as_dict()),
    ]
    process = subprocess.Popen(
        command, start_new_session=True, stdin=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": path}
    )
    try:
        while not Path(address).exists():
            if process.poll() is not None:
                raise RuntimeError(f"the verifier's service ended with status {process.returncode} before it was up")
            time.sleep(0.02)
        yield address
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
        if process.poll() is None:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)
