"""What keeps a job's process away from everything else: namespaces, a read-only tree, seccomp, limits.

Two steps. `enter_namespaces` runs once, in the fresh zygote before torch is imported: own user, pid, network, mount and
IPC namespaces. `seal` puts the whole file tree read-only and hides /proc. `confine` runs in every forked job: limits,
no capabilities, a system call filter. With all of it a job has no network, sees no process but itself, can neither
write, delete nor rename any file, start a program or a second process, and is gone with everything it started the
moment it is killed. It can still read files that the user can read, use CPU until its limit and learn the time. Where
the host forbids namespaces, the filter and the limits remain; `Isolation` says what holds. x86-64 has the filter; on
other machines it is left out and `Isolation.seccomp` is False.
"""

import contextlib
import ctypes
import os
import platform
import resource
import signal
import struct
from dataclasses import asdict, dataclass

_libc = ctypes.CDLL(None, use_errno=True)
NEWNS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, PR_SET_DUMPABLE = 1, 24, 38, 22, 4
SYS_MOUNT_SETATTR, SYS_CAPSET = 442, 126


@dataclass
class Isolation:
    """What holds on this host."""

    namespaces: bool = False
    read_only: bool = False
    proc_hidden: bool = False
    seccomp: bool = False

    def as_dict(self) -> dict:
        return asdict(self)


def die_with_parent() -> None:
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def enter_namespaces(isolation: Isolation) -> None:
    """Own namespaces for this process and what it forks; the caller goes on in a child that is pid 1 of the new one."""
    uid, gid = os.getuid(), os.getgid()
    if _libc.unshare(NEWUSER | NEWPID | NEWNET | NEWNS | NEWIPC) != 0:
        return
    with contextlib.suppress(OSError):
        _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{uid} {uid} 1")
    _write("/proc/self/gid_map", f"{gid} {gid} 1")
    isolation.namespaces = True
    pid = os.fork()
    if pid:
        _wait_as(pid)
    die_with_parent()


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def _wait_as(pid: int) -> None:
    """The outer process does nothing but end as the inner one does; it holds none of its descriptors."""
    os.closerange(0, 256)
    _, status = os.waitpid(pid, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0x7F)


class _MountAttr(ctypes.Structure):
    _fields_ = [
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns", ctypes.c_uint64),
    ]


def seal(isolation: Isolation) -> int:
    """Everything read-only, /proc covered by an empty folder. Returns a descriptor of this pid namespace, or -1."""
    if not isolation.namespaces:
        return -1
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    attr = _MountAttr(1, 0, 1 << 18, 0)  # MOUNT_ATTR_RDONLY, MS_PRIVATE
    done = _libc.syscall(SYS_MOUNT_SETATTR, -100, b"/", 0x8000, ctypes.byref(attr), ctypes.sizeof(attr))
    isolation.read_only = done == 0
    isolation.proc_hidden = _libc.mount(b"none", b"/proc", b"tmpfs", 1, b"size=4k") == 0
    return own


def new_pid_namespace(own: int) -> None:
    """The next fork is pid 1 of a namespace of its own: with it everything that it started dies."""
    if own >= 0 and (_libc.setns(own, NEWPID) != 0 or _libc.unshare(NEWPID) != 0):
        raise OSError(ctypes.get_errno(), "no new pid namespace")


def confine(isolation: Isolation, keep_fd: int, null_fd: int, address_space: int, cpu_s: float) -> None:
    """In the forked job, before anything of the job is read: see the head of the file."""
    die_with_parent()
    if not isolation.namespaces:
        os.setsid()
    for target in (0, 1, 2):
        os.dup2(null_fd, target)
    os.dup2(keep_fd, 3)
    os.closerange(4, 1 << 12)
    _libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    for name, value in (
        (resource.RLIMIT_AS, address_space),
        (resource.RLIMIT_CPU, int(cpu_s) + 1),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 256),
        (resource.RLIMIT_NPROC, 256),
    ):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(name, (value, value))
    _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if isolation.namespaces:
        os.chdir("/proc" if isolation.proc_hidden else "/")
        for capability in range(64):
            if _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
                break
        header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
        if platform.machine() == "x86_64":
            _libc.syscall(SYS_CAPSET, header, data)
    if isolation.seccomp:
        install_filter()


# System calls that no kernel's host code needs, refused with EPERM. Numbers of x86-64.
_PROCESSES = [57, 58, 59, 322, 62, 200, 129, 297, 424, 434, 438, 101, 310, 311, 109, 112, 141, 144, 312]
_NETWORK = [41, 42, 43, 49, 50, 53, 288]  # sendto stays: the answer leaves by it
_NAMESPACES = [272, 308, 165, 166, 155, 161, 442, 428, 429, 430, 431, 432, 433]
_KERNEL = [
    321,
    323,
    248,
    249,
    250,
    298,
    425,
    426,
    427,
    175,
    313,
    176,
    169,
    246,
    320,
    163,
    167,
    168,
    170,
    171,
    164,
    227,
    159,
    305,
]
_FILES = [
    76,
    77,
    82,
    264,
    316,
    83,
    258,
    84,
    85,
    86,
    265,
    87,
    263,
    88,
    266,
    90,
    91,
    268,
    452,
    92,
    93,
    94,
    260,
    132,
    235,
    261,
    280,
    133,
    259,
    188,
    189,
    190,
    197,
    198,
    199,
    285,
]
_SHARED_MEMORY = [319, 29, 30, 31, 64, 68, 240, 256]
REFUSED = sorted({*_PROCESSES, *_NETWORK, *_NAMESPACES, *_KERNEL, *_FILES, *_SHARED_MEMORY})
_CLONE, _CLONE3, _OPEN, _OPENAT, _OPENAT2 = 56, 435, 2, 257, 437
_WRITING = 0x1 | 0x2 | 0x40 | 0x200  # O_WRONLY, O_RDWR, O_CREAT, O_TRUNC


def _program() -> bytes:
    """The classic BPF filter: a list of refused numbers, clone for threads only, files for reading only."""
    load, jump_eq, jump_set, jump_ge, ret = 0x20, 0x15, 0x45, 0x35, 0x06
    allow, eperm, enosys = 0x7FFF0000, 0x00050000 | 1, 0x00050000 | 38
    code: list[tuple[int, int, int, int]] = [
        (load, 0, 0, 4),
        (jump_eq, 1, 0, 0xC000003E),
        (ret, 0, 0, eperm),  # another architecture
        (load, 0, 0, 0),
        (jump_ge, 0, 1, 0x40000000),
        (ret, 0, 0, eperm),  # the x32 table
    ]
    for number in (_CLONE3, _OPENAT2):
        code += [(jump_eq, 0, 1, number), (ret, 0, 0, enosys)]
    for number in REFUSED:
        code += [(jump_eq, 0, 1, number), (ret, 0, 0, eperm)]
    for number, argument, mask, refuse_if_set in (
        (_CLONE, 0, 0x10000, False),
        (_OPEN, 1, _WRITING, True),
        (_OPENAT, 2, _WRITING, True),
    ):
        yes, no = (0, 1) if refuse_if_set else (1, 0)
        code += [
            (jump_eq, 0, 4, number),
            (load, 0, 0, 16 + 8 * argument),
            (jump_set, yes, no, mask),
            (ret, 0, 0, eperm),
            (ret, 0, 0, allow),
        ]
    code.append((ret, 0, 0, allow))
    return b"".join(struct.pack("<HBBI", *line) for line in code)


_FILTER = _program()


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


def install_filter() -> None:
    program = _Program(len(_FILTER) // 8, _FILTER)
    if _libc.prctl(PR_SET_SECCOMP, 2, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no system call filter")


def can_filter() -> bool:
    """Whether this machine has the filter: tried out in a throw-away child."""
    if platform.machine() != "x86_64":
        return False
    pid = os.fork()
    if pid == 0:
        try:
            _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            install_filter()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
