"""The warm process: torch and Triton imported, one kernel compiled and one interpreted; it forks a child for each job.

A fresh exec, so that it holds nothing of the process that started it, and single-threaded, so that a fork of it is
sound. It runs no code of anybody: jobs are read and run in the forked, confined children. It answers on the control
socket which child ended how, and ends when that socket closes. Start it through `pool.Zygote`.
"""

import contextlib
import gc
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
from pathlib import Path

from kernelzero.keck.confine import sandbox, wire
from kernelzero.keck.pool.deferred import load_if_named


def main(control_fd: int) -> None:
    gc.disable()  # hundreds of modules are imported and kept: collecting meanwhile finds nothing
    isolation = sandbox.Isolation()
    sandbox.enter_namespaces(isolation)
    control = socket.socket(fileno=control_fd)
    warm_up()
    base = _address_space()
    isolation.seccomp = sandbox.can_filter()
    null_fd = os.open(os.devnull, os.O_RDWR)
    own = sandbox.seal(isolation)
    gc.freeze()  # children touch fewer shared pages
    control.send(json.dumps({"ready": True, "isolation": isolation.as_dict(), "versions": versions()}).encode())
    Loop(control, isolation, own, null_fd, base).run()
    os._exit(0)  # nothing here needs to be taken down in order, and torch takes long over it


def versions() -> dict:
    import numpy
    import torch
    import triton

    return {
        "python": sys.version.split()[0],
        "torch": str(torch.__version__),
        "triton": triton.__version__,
        "numpy": numpy.__version__,
    }


def warm_up() -> None:
    """Every lazy import and first-use cost of the three kinds of job, paid once here."""
    import torch

    torch.set_num_threads(1)
    from kernelzero.keck.pool import warm

    warm.exercise()


def _address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


class Loop:
    def __init__(self, control, isolation, own, null_fd, base):
        self.control, self.isolation, self.own, self.null_fd, self.base = control, isolation, own, null_fd, base
        self.jobs: dict[int, int] = {}  # pid -> job
        self.folders: dict[int, str] = {}
        self.wake_read, self.wake_write = os.pipe()
        os.set_blocking(self.wake_read, False)
        os.set_blocking(self.wake_write, False)
        signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def run(self) -> None:
        while True:
            ready, _, _ = select.select([self.control, self.wake_read], [], [])
            if self.wake_read in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self.wake_read, 4096)
                self.reap()
            if self.control in ready:
                message, fds, _, _ = socket.recv_fds(self.control, 65536, 4)
                if not message:
                    self.kill_all()
                    return
                self.handle(json.loads(message), fds)

    def handle(self, message: dict, fds: list[int]) -> None:
        if message["op"] == "fork":
            try:
                self.fork(message, fds[0])
            except OSError as error:
                self.control.send(json.dumps({"exit": message["id"], "status": None, "error": str(error)}).encode())
            finally:
                for fd in fds:
                    os.close(fd)
        elif message["op"] == "kill":
            for pid, job in self.jobs.items():
                if job == message["id"]:
                    self._kill(pid)

    def _kill(self, pid: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if not self.isolation.namespaces:
                os.killpg(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def fork(self, message: dict, fd: int) -> None:
        sandbox.new_pid_namespace(self.own)
        folder = None if self.isolation.namespaces else tempfile.mkdtemp(prefix="keck-")
        pid = os.fork()
        if pid == 0:
            self.child(message, fd, folder)
        self.jobs[pid] = message["id"]
        if folder:
            self.folders[pid] = folder

    def child(self, message: dict, fd: int, folder: str | None) -> None:
        """Never returns. What a job's code does to this interpreter stays here."""
        status = 70
        try:
            gc.enable()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if folder:
                os.chdir(folder)
            sandbox.confine(self.isolation, fd, self.null_fd, self.base + message["memory"], message["cpu"])
            run_job(socket.socket(fileno=3), message["cap"])
            status = 0
        except MemoryError:
            status = 71
        except wire.Closed:
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)

    def reap(self) -> None:
        while self.jobs:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            job = self.jobs.pop(pid, None)
            folder = self.folders.pop(pid, None)
            if folder:
                shutil.rmtree(folder, ignore_errors=True)
            if job is not None:
                self.control.send(json.dumps({"exit": job, "status": os.waitstatus_to_exitcode(status)}).encode())

    def kill_all(self) -> None:
        for pid in list(self.jobs):
            self._kill(pid)


def run_job(sock: socket.socket, cap: int) -> None:
    """One job: its request is a frame; its answers are frames; each kind of job has a module of its own."""
    start = time.perf_counter()
    header, blob = wire.receive(sock, cap)
    kind = header["kind"]
    if kind == "reference":
        from kernelzero.keck.reference.job import run
    elif kind == "record":
        from kernelzero.keck.record.job import run
    else:
        from kernelzero.keck.replay.job import run
    header["started"] = start
    load_if_named(str(header.get("source", "")))
    run(sock, header, blob)


if __name__ == "__main__":
    main(int(sys.argv[1]))
