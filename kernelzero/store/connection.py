"""Short openings of the database file: retry while another process holds it, one clear sentence when it cannot be opened.

DuckDB lets one process write and no other read meanwhile, so nobody here keeps the file open: a write takes some 30 ms, a read some
20 ms, and who comes in between tries again. Inside one process openings are serial, by a lock for each file.
"""

import errno
import os
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import tenacity

from kernelzero.errors import UserError

PATIENCE_S = 30.0
CONFIG = {"autoinstall_known_extensions": False, "threads": min(4, os.cpu_count() or 1)}  # never reach for the network
MAGIC, MAGIC_AT = b"DUCK", 8  # every DuckDB file carries these bytes after its first checksum

_locks: dict[str, threading.Lock] = {}
_locks_guard = threading.Lock()
os.register_at_fork(after_in_child=_locks.clear)  # a thread that held one does not exist in the child


class _Held(Exception):
    """Another process holds the file: try again."""


@contextmanager
def opened(path: Path, *, read_only: bool, patience_s: float = PATIENCE_S) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that is closed at the end; every error of DuckDB that a user can mend leaves as a UserError."""
    with _serial(path, patience_s):
        connection = _open(path, read_only, patience_s)
        try:
            yield connection
        except (duckdb.Error, OSError) as error:
            raise explain(error, path) or error from error
        finally:
            _close(connection)


def copy_whole(path: Path, target: Path, patience_s: float = PATIENCE_S) -> None:
    """Copy the database file, complete and without a log beside it, while nobody else has it open.

    The file is opened for the copy before DuckDB locks it and closed after DuckDB let go: closing any descriptor of a file
    drops all POSIX locks that this process has on it.
    """
    with _serial(path, patience_s), path.open("rb") as source:
        connection = _open(path, False, patience_s)
        try:
            connection.execute("CHECKPOINT")
            with target.open("wb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)
                copy.flush()
                os.fsync(copy.fileno())
        except duckdb.Error as error:
            raise explain(error, path) or error from error
        finally:
            _close(connection)


def check_file(path: Path, patience_s: float = PATIENCE_S) -> None:
    """UserError when there is something at `path` that is no DuckDB file. Reads 12 bytes; asks for no lock of the file."""
    if path.is_dir():
        raise UserError(f"{path} is a folder, not a database; give the path of a file")
    try:
        with _serial(path, patience_s), path.open("rb") as file:  # serial: see copy_whole on closing a descriptor
            head = file.read(MAGIC_AT + len(MAGIC))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise UserError(f"cannot read the database {path}: {error.strerror}; check its permissions") from error
    if head[MAGIC_AT:] != MAGIC:
        raise UserError(f"{path} is not a KernelZero database (not a DuckDB file); give another path, or move that file away")


def explain(error: Exception, path: Path) -> UserError | None:
    """The sentence for what a user can mend; None for anything else, which is a fault of ours and should be seen whole."""
    text = str(error)
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) or re.search(r"No space left|quota exceeded|File too large|out of disk", text, re.I):
        return UserError(f"the disk is full: nothing of this step was written to {path}; free some space and start the same command again")
    if number in (errno.EACCES, errno.EPERM, errno.EROFS) or re.search(r"Permission denied|Read-only file system", text):
        return UserError(f"cannot write {path}: permission denied; choose a folder that you may write to, or change its permissions")
    if re.search(r"checksum|corrupt|not a valid DuckDB|read enough bytes|Failed to load metadata|replaying WAL", text, re.I):
        return UserError(f"the database {path} is damaged ({text.splitlines()[0][:160]}); restore it, or continue from its snapshot "
                         f"{snapshot_of(path).name} if there is one")
    if re.search(r"database file with version number|storage version|newer version of DuckDB", text, re.I):
        return UserError(f"the database {path} was written by a newer DuckDB than this one ({duckdb.__version__}); update with `pip install -U duckdb`")
    if "different configuration" in text:
        return UserError(f"this process already has {path} open by another connection; close that one first")
    return None


def snapshot_of(path: Path) -> Path:
    """Where `Store.publish` puts the copy for readers who stay long."""
    return path.with_name(f"{path.stem}.snapshot{path.suffix or '.duckdb'}")


@contextmanager
def _serial(path: Path, patience_s: float) -> Iterator[None]:
    with _locks_guard:
        lock = _locks.setdefault(os.path.realpath(path), threading.Lock())
    if not lock.acquire(timeout=patience_s):
        raise UserError(f"another thread of this process kept {path} open for {patience_s:.0f} s")
    try:
        yield
    finally:
        lock.release()


def _open(path: Path, read_only: bool, patience_s: float) -> duckdb.DuckDBPyConnection:
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(_Held),
        wait=tenacity.wait_exponential(multiplier=0.005, exp_base=1.5, max=0.1) + tenacity.wait_random(0, 0.005),
        stop=tenacity.stop_after_delay(patience_s),
        reraise=True,
    )
    try:
        return retrying(_attempt, path, read_only)
    except _Held as held:
        holder = re.search(r"\(PID (\d+)\)", str(held))
        who = f"process {holder[1]}{_command(int(holder[1]))}" if holder else "another process"
        raise UserError(f"the database {path} is held open by {who} for more than {patience_s:.0f} s; close it there "
                        f"(who reads for long opens a snapshot: {snapshot_of(path).name})") from None


def _attempt(path: Path, read_only: bool) -> duckdb.DuckDBPyConnection:
    try:
        return duckdb.connect(str(path), read_only=read_only, config=CONFIG)
    except duckdb.Error as error:
        if "Could not set lock" in str(error):
            raise _Held(str(error)) from None
        raise explain(error, path) or error from error


def _command(pid: int) -> str:
    """' (name)' of a process, for the message; '' when it is gone or not ours to see."""
    import psutil

    try:
        return f" ({' '.join(psutil.Process(pid).cmdline()[:3])[:80]})"
    except psutil.Error:
        return ""


def _close(connection: duckdb.DuckDBPyConnection) -> None:
    """Closing writes the log into the file. When that fails (a full disk), the log stays beside it and is replayed at the next opening."""
    try:
        connection.close()
    except duckdb.Error as error:
        if not isinstance(error, (duckdb.FatalException, duckdb.IOException, duckdb.TransactionException)):
            raise
