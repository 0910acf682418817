"""One verifier for a whole run: a process whose pool many stages share, so that none pays the start of torch and Triton.

`python -m kernelzero.keck.service --address PATH` listens on a Unix socket in a folder that only the user can enter; a random key in
PATH.key is asked of every client. It ends when the process that started it ends. Clients and service trust each other (both
are ours), so they talk by multiprocessing.connection; nothing of a candidate's process passes here but checked data.
"""

import argparse
import contextlib
import os
import secrets
import select
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Client, Listener
from pathlib import Path

from kernelzero.keck.limits import Limits
from kernelzero.keck.runs import ModuleJob, ModuleRun
from kernelzero.keck.verdict import Task, Verdict


def serve(address: str, workers: int, limits: Limits) -> None:
    """Listens until it is killed or its parent ends."""
    from kernelzero.keck.verifier import Verifier

    folder = Path(address).parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = secrets.token_bytes(32)
    _write_private(Path(f"{address}.key"), key)
    with contextlib.suppress(FileNotFoundError):
        Path(address).unlink()
    verifier = Verifier(workers, limits)
    verifier.pool.current()  # warm before the first client
    with Listener(address, "AF_UNIX", backlog=64, authkey=key) as listener:
        os.chmod(address, 0o600)
        while True:
            try:
                connection = listener.accept()
            except Exception as error:  # a client with a wrong key, or one that left at once
                print(f"keck: a client was refused: {error}", file=sys.stderr)
                continue
            threading.Thread(target=_attend, args=(connection, verifier), daemon=True).start()


def _write_private(path: Path, data: bytes) -> None:
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(data)


def _attend(connection, verifier) -> None:
    """One client: a request, its answers, the next request."""
    with contextlib.suppress(EOFError, OSError), connection:
        while True:
            kind, body = connection.recv()
            try:
                if kind == "verify":
                    for index, verdict in verifier.verify_iter(body):
                        connection.send(("verdict", (index, verdict)))
                elif kind == "modules":
                    for raw in verifier.run_modules_raw(body):
                        connection.send(("module", _plain(raw)))
                elif kind == "about":
                    zygote = verifier.pool.current()
                    connection.send(("about", {"isolation": zygote.isolation, "versions": zygote.versions, "pid": os.getpid()}))
                connection.send(("done", None))
            except (EOFError, OSError):
                raise
            except Exception as error:
                connection.send(("error", f"{type(error).__name__}: {error}"))


def _plain(raw):
    """A module's run without memoryviews, which do not travel."""
    reference, job, seconds, fault = raw
    return ([(c.header, bytes(c.blob)) for c in reference.cases], reference.failed, reference.detail, reference.passed_by, job, seconds, fault)


class RemoteVerifier:
    """The same methods as `Verifier`, answered by a service. Thread-safe: calls of one object take turns."""

    def __init__(self, address: str, timeout_s: float = 120.0):
        self.address, self.timeout_s = address, timeout_s
        self.lock = threading.RLock()
        self.connection = self._open()

    def _open(self):
        deadline = time.monotonic() + self.timeout_s
        while True:
            try:
                return Client(self.address, "AF_UNIX", authkey=Path(f"{self.address}.key").read_bytes())
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
        """(index, verdict) as they finish. A service that dies leaves `not judged, retry` for what it had not answered."""
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
        from kernelzero.keck.module_data import decode_run
        from kernelzero.keck.reference_cache import Reference, read_case

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


def connect(address: str, timeout_s: float = 120.0) -> RemoteVerifier:
    """A client of the service at `address`; waits up to `timeout_s` for it to come up."""
    return RemoteVerifier(str(address), timeout_s)


def _end_with(parent: int) -> None:
    """Ends this process when `parent` does. By a descriptor, not PDEATHSIG: that fires when the starting *thread* ends."""
    try:
        fd = os.pidfd_open(parent)
    except OSError:
        os._exit(0)
    select.select([fd], [], [])
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser(description="Keck as a service on a Unix socket")
    parser.add_argument("--address", required=True, help="path of the socket, in a folder of its own")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--parent", type=int, default=None, help="end with this process (default: the one that starts it)")
    options = parser.parse_args()
    parent = options.parent or os.getppid()
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    serve(options.address, options.workers, Limits())


if __name__ == "__main__":
    main()
