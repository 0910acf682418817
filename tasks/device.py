"""The device is never used by two stages at once: a file lock is the truth, since it is free the moment its holder dies.

One lock a machine and device kind. On a CPU there is nothing to hold.
"""

import os
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from kernelzero.config import Config


@contextmanager
def held(config: Config, waiting: Callable[[str], None]):
    """Hold the GPU for the length of a stage; `waiting(holder)` is called once when somebody else has it."""
    if config.base.device == "cpu":
        yield
        return
    path = Path(tempfile.gettempdir()) / "kernelzero-gpu.lock"
    lock, holder = FileLock(path), path.with_suffix(".holder")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        waiting(holder.read_text() if holder.is_file() else "another process")
        lock.acquire()
    try:
        holder.write_text(f"process {os.getpid()}")
        yield
    finally:
        lock.release()
