"""Jobs in confined processes: the zygote's owner side. Starts it, asks it for children, kills what runs past its time.

A job is one request frame and some answer frames over a socket of its own. Everything that can go wrong with it becomes
a `JobFailure` with a reason of the fixed list, or a `Fault` when it is ours (the zygote died, no memory for a fork).
"""

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from kernelzero.keck.confine import wire
from kernelzero.keck.judge.reasons import Reason

START_S = 120.0
OUT_OF_MEMORY_STATUS = 71


class Fault(Exception):
    """The machine's or ours: the job says nothing about the candidate."""


class JobFailure(Exception):
    def __init__(self, reason: Reason, detail: str):
        super().__init__(detail)
        self.reason, self.detail = reason, detail


class _Timed:
    """A socket whose reads and writes end at a deadline."""

    def __init__(self, sock: socket.socket, deadline: float):
        self.sock, self.deadline = sock, deadline

    def _left(self) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def recv_into(self, view, count: int) -> int:
        self.sock.settimeout(self._left())
        return self.sock.recv_into(view, count)

    def sendall(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            self.sock.settimeout(self._left())
            view = view[self.sock.send(view[: 1 << 20]) :]


def _environment() -> dict:
    """What a zygote is started with: no GPU, one thread, nothing of the owner's settings or secrets."""
    root = str(Path(__file__).resolve().parents[3])
    path = os.pathsep.join([root, *(p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p)])
    kept = {k: os.environ[k] for k in ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "VIRTUAL_ENV") if k in os.environ}
    return kept | {
        "PYTHONPATH": path,
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
        "HOME": "/nonexistent",
        "TRITON_CACHE_DIR": "/nonexistent",
        "PYTHONDONTWRITEBYTECODE": "1",
        "MALLOC_ARENA_MAX": "1",
    }


class Zygote:
    """One warm process and the jobs that it forked. Thread-safe."""

    def __init__(self):
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.log = tempfile.TemporaryFile()  # noqa: SIM115 closed in close()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kernelzero.keck.pool.zygote", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self.log,
            start_new_session=True,
            cwd="/",
        )
        theirs.close()
        self.ids = itertools.count()
        self.exits: dict[int, tuple[threading.Event, list]] = {}
        self.lock = threading.Lock()
        self.dead = False
        self.isolation: dict = {}
        self.versions: dict = {}
        self.greeting = threading.Lock()
        self.ready = False

    def wait_ready(self) -> None:
        """Returns once it is warm; Fault when it did not come up. The first caller waits for the start, which takes seconds."""
        with self.greeting:
            if not self.ready:
                self._hello()
                self.ready = True
                threading.Thread(target=self._read, daemon=True, name="keck-zygote").start()

    def _hello(self) -> None:
        self.control.settimeout(START_S)
        try:
            data = self.control.recv(65536)
        except OSError:
            data = b""
        if not data:
            self.close()
            raise Fault(f"the verifier's warm process did not start: {self.tail}")
        self.control.settimeout(None)
        hello = json.loads(data)
        self.isolation, self.versions = hello["isolation"], hello["versions"]

    def _read(self) -> None:
        while True:
            try:
                data = self.control.recv(65536)
            except OSError:
                data = b""
            if not data:
                break
            message = json.loads(data)
            with self.lock:
                waiting = self.exits.pop(message["exit"], None)
            if waiting:
                waiting[1].append(message["status"])
                waiting[0].set()
        with self.lock:
            self.dead = True
            waiting, self.exits = list(self.exits.values()), {}
        for event, _ in waiting:
            event.set()

    def fork(self, cpu_s: float, memory: int, cap: int) -> tuple[int, socket.socket, tuple]:
        ours, theirs = socket.socketpair()
        number = next(self.ids)
        waiting = (threading.Event(), [])
        with self.lock:
            if self.dead:
                ours.close()
                theirs.close()
                raise Fault("the verifier's warm process is gone")
            self.exits[number] = waiting
        message = json.dumps({"op": "fork", "id": number, "cpu": cpu_s, "memory": memory, "cap": cap}).encode()
        try:
            socket.send_fds(self.control, [message], [theirs.fileno()])
        except OSError as error:
            ours.close()
            raise Fault(f"the verifier's warm process is gone: {error}") from None
        finally:
            theirs.close()
        return number, ours, waiting

    def kill(self, number: int) -> None:
        with contextlib.suppress(OSError):
            self.control.send(json.dumps({"op": "kill", "id": number}).encode())

    @property
    def tail(self) -> str:
        with contextlib.suppress(ValueError, OSError):
            self.log.seek(0, os.SEEK_END)
            self.log.seek(max(0, self.log.tell() - 2000))
            return self.log.read().decode(errors="replace").strip()[-500:]
        return ""

    def close(self) -> None:
        self.dead = True
        with contextlib.suppress(OSError):
            self.control.shutdown(socket.SHUT_RDWR)  # wakes who waits for it
        if self.ready:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(2)
        self.control.close()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Pool:
    """The zygote in use, replaced when it dies."""

    def __init__(self, memory: int, cap: int):
        self.memory, self.cap = memory, cap
        self.zygote: Zygote | None = None
        self.lock = threading.Lock()
        self.closed = False

    def current(self) -> Zygote:
        """The warm process, waited for."""
        zygote = self._started()
        zygote.wait_ready()
        return zygote

    def start(self) -> None:
        """Begins the warm start without waiting for it; whoever asks for the process first waits, and hears of what failed."""
        self._started()

    def _started(self) -> Zygote:
        with self.lock:
            if self.closed:
                raise Fault("the verifier is closed")
            if self.zygote is None or self.zygote.dead:
                if self.zygote is not None:
                    self.zygote.close()
                self.zygote = Zygote()
            return self.zygote

    def run(self, header: dict, blob: bytes, seconds: float, cap: int, header_cap: int | None = None):
        """Yields the job's frames (header, bytes) until it ends; closing the generator kills the job."""
        zygote = self.current()
        number, sock, waiting = zygote.fork(seconds, self.memory, self.cap)
        deadline = time.monotonic() + seconds
        timed = _Timed(sock, deadline)
        try:
            yield from self._frames(timed, header, blob, cap, header_cap)
            self._ended(zygote, waiting, deadline)
        except TimeoutError:
            raise JobFailure(Reason.TIMEOUT, f"it ran past {seconds:g} s") from None
        except wire.WireError as error:
            raise JobFailure(
                Reason.OUTPUT_TOO_LARGE if "limit" in str(error) else Reason.BAD_TAPE, str(error)
            ) from None
        finally:
            sock.close()
            if not waiting[0].is_set():
                zygote.kill(number)

    def _frames(self, timed: _Timed, header: dict, blob: bytes, cap: int, header_cap: int | None):
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            wire.send(timed, header, blob)
        total = 0
        while True:
            try:
                answer, data = wire.receive(timed, cap - total, header_cap)
            except (wire.Closed, ConnectionResetError):
                return
            total += len(data)
            yield answer, data

    def _ended(self, zygote: Zygote, waiting, deadline: float) -> None:
        """The socket is closed: how did the process end? Raises unless it ended well."""
        if not waiting[0].wait(max(0.0, deadline - time.monotonic())):
            raise TimeoutError
        if not waiting[1]:
            raise Fault(f"the verifier's warm process died: {zygote.tail}")
        status = waiting[1][0]
        if status is None:
            raise Fault("no new process could be made")
        if status == OUT_OF_MEMORY_STATUS:
            raise JobFailure(Reason.OUT_OF_MEMORY, "it ran past its memory")
        if status < 0:
            if -status in (signal.SIGXCPU, signal.SIGKILL):
                raise JobFailure(Reason.TIMEOUT, "it ran past its CPU time")
            raise JobFailure(Reason.CRASHED, f"its process was killed by {signal.Signals(-status).name}")
        if status != 0:
            raise JobFailure(Reason.EXITED, f"its process left with status {status}")

    def close(self) -> None:
        with self.lock:
            self.closed = True
            if self.zygote is not None:
                self.zygote.close()
                self.zygote = None
