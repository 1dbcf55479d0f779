"""Tests start processes of the program by a fork of an interpreter that has imported all modules.

A start of `python -m admin.cli` costs one to three seconds of CPU, and nearly all of them are imports. `install` makes
`subprocess.Popen` ask a fork server for such processes. All other commands are executed as ever. A process that the
server made has its own id, descriptors, session, environment and folder, and it is a child of the process that asked.
It is given a server of its own, so that a supervisor's children start in the same way. With `--slow`, nothing is
installed, and every process starts with an interpreter of its own.

Only Linux on x86-64 with glibc has what this needs; elsewhere `install` does nothing.
"""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import gc
import importlib.util
import os
import pickle
import pkgutil
import platform
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import types
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from setproctitle import getproctitle, setproctitle

from support.processes import unsynced_disk

_ROOT: Final = Path(__file__).resolve().parents[3]
_PACKAGES: Final = ("archive", "dedupdb", "frontier", "proxy", "browsers", "admin")
_MODULES: Final = (
    "admin.cli",
    "admin.collections.tasks.work",
    "support.admin.killed_harvester",
    "support.admin.scheduler_process",
    "support.processes.python_code",
    "support.processes.supervised_child",
    "support.proxy.proxy_process",
)
_LIMITS: Final = (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_AS, resource.RLIMIT_CORE)
_MESSAGE_BYTES: Final = 100_000
"""A larger command line or environment is executed as ever: the kernel refuses messages of some 200 KB."""
_SYS_CLONE: Final = 56
_CLONE_PARENT: Final = 0x8000
_CLONE_CHILD_SETTID: Final = 0x01000000

EXECUTED: Final[Mapping[str, str]] = {"TESTS_EXECUTE_PROCESSES": "1"}
"""Variables with which a process and its children are executed, for tests of their memory."""

_Popen: Final = subprocess.Popen


@dataclass(frozen=True, slots=True)
class Start:
    """A start says what a new process is to be."""

    command: tuple[str, ...]
    module: str
    arguments: tuple[str, ...]
    is_safe_path: bool
    """True with `-P`: the current folder is not searched for modules."""
    folder: str
    environment: Mapping[str, str]
    umask: int
    has_session: bool
    fds: tuple[int, ...]
    """The numbers of the descriptors in the new process, in the order in which they are sent."""
    limits: tuple[tuple[int, int], ...]


class _Client:
    """The client asks the fork server of this process for new processes."""

    def __init__(self, control: socket.socket) -> None:
        self._control, self._lock, self._owner = control, threading.Lock(), os.getpid()

    @property
    def is_ours(self) -> bool:
        """Return whether this process, and not one that was forked from it, has made the client."""
        return self._owner == os.getpid()

    def start(self, start: Start, fds: Sequence[int]) -> int:
        """Return the id of the new process."""
        with self._lock:
            socket.send_fds(self._control, [pickle.dumps(start)], list(fds))
            reply = self._control.recv(100)
        if not reply:
            raise OSError("the fork server of the tests has ended")
        return int(reply)


_client: _Client | None = None


class _ForkingPopen(_Popen[Any]):
    """`Popen` for processes of the program by a fork, and for all others by an execution."""

    def _execute_child(self, *given: Any) -> None:
        (args, executable, preexec_fn, close_fds, pass_fds, cwd, env, _, _, shell, *pipes) = given
        (child_in, _, _, child_out, _, child_error, _, gid, gids, uid, umask, has_session, group) = pipes
        is_plain = not (executable or preexec_fn or shell or gid or gids or uid) and close_fds and umask == -1 == group
        start = None
        if is_plain and isinstance(args, list | tuple):
            start = _start_of(args, cwd, env, bool(has_session), pass_fds)
        if start is None:
            super()._execute_child(*given)  # type: ignore[misc]
            return
        standard = [own if fd == -1 else fd for own, fd in enumerate((child_in, child_out, child_error))]
        self.pid = _client_of_this_process().start(start, [*standard, *pass_fds])
        self._child_created = True
        self._close_pipe_fds(*pipes[:6])  # type: ignore[attr-defined]


def install() -> None:
    """Let `subprocess.Popen` fork processes of the program from a fork server, which the first one starts."""
    if sys.platform == "linux" and platform.machine() == "x86_64" and _thread_id_address():
        subprocess.Popen = _ForkingPopen  # type: ignore[misc]


def is_forked(command: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Return whether the fork server knows how to start a command."""
    return _start_of(command, None, environment, has_session=False, pass_fds=()) is not None


def _start_of(args: Sequence[Any], cwd: Any, env: Any, has_session: bool, pass_fds: Sequence[int]) -> Start | None:
    """Return the start of a process of the program, or None for a command that only an execution can do."""
    words = [os.fsdecode(word) for word in args]
    if words[:1] == [str(Path(sys.executable).with_name("ghostfleet"))]:
        words[:1] = [sys.executable, "-P", "-m", "admin.cli"]
    if words[:1] != [sys.executable]:
        return None
    is_safe_path = words[1:2] == ["-P"]
    flag, module = (*words[1 + is_safe_path :], "", "")[:2]
    arguments = words[3 + is_safe_path :]
    given = os.environ if env is None else env
    environment = {os.fsdecode(name): os.fsdecode(value) for name, value in given.items()}
    acts_early = _interpreter_variables(environment) != _interpreter_variables(os.environ)
    if flag != "-m" or module not in _MODULES or acts_early or environment.items() >= EXECUTED.items():
        return None
    folder = os.path.abspath(os.fsdecode(cwd or "."))
    start = Start(
        command=tuple(words),
        module=module,
        arguments=tuple(arguments),
        is_safe_path=is_safe_path,
        folder=folder,
        environment=environment,
        umask=_umask(),
        has_session=has_session,
        fds=(0, 1, 2, *pass_fds),
        limits=tuple(resource.getrlimit(limit) for limit in _LIMITS),
    )
    return start if len(pickle.dumps(start)) < _MESSAGE_BYTES and os.path.isdir(folder) else None


def _interpreter_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that act on an interpreter or on its libraries before the first module is imported."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(("PYTHON", "LD_", "MALLOC_", "GLIBC_")) and name != "PYTHONPATH"
    }


def _umask() -> int:
    status = Path("/proc/self/status").read_text("ascii", "replace")
    return next(int(line.split()[1], 8) for line in status.splitlines() if line.startswith("Umask:"))


def _client_of_this_process() -> _Client:
    """Return the client; the first call in a process of the tests starts a server."""
    global _client
    if _client is None or not _client.is_ours:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        folders = os.pathsep.join([str(_ROOT), str(_ROOT / "tests")])
        with theirs:
            _Popen(
                [sys.executable, "-P", "-m", "support.processes.fork_server", str(theirs.fileno())],
                cwd=_ROOT,
                # A thread of OpenBLAS, which numpy loads, would not exist in the forks; its library would wait for it.
                env={**os.environ, "PYTHONPATH": folders, "OPENBLAS_NUM_THREADS": "1"},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            ).returncode = 0  # The server ends when this process does, so nobody waits for it.
        _client = _Client(ours)
        atexit.register(ours.close)  # else the interpreter would warn at its end that the socket is open
    return _client


# ---- The server ------------------------------------------------------------------------------------------------------


def main() -> None:
    """Import all modules of the program, and serve. In each new process, run the module that it was started for."""
    control = socket.socket(fileno=int(sys.argv[1]))
    getproctitle()  # finds the memory of the title, which later changes of the environment would hide
    paths = [path for path in sys.path if path not in os.environ["PYTHONPATH"].split(os.pathsep)]
    for package in _PACKAGES:
        for module in pkgutil.walk_packages([str(_ROOT / package)], f"{package}."):
            if not module.name.endswith("__main__") and ".migrations." not in module.name:
                with suppress(ImportError):  # of a library that is an extra
                    importlib.import_module(module.name)
    threads = len(os.listdir("/proc/self/task"))
    assert threads == 1, f"the imports have started {threads - 1} threads, which would not exist in the forks"
    install()
    gc.collect()
    gc.freeze()
    run(_serve(control), paths)


def _serve(control: socket.socket) -> Start:
    """Serve until the client has ended. Return in each new process what the process is to be."""
    global _client
    while True:
        message, fds, _, _ = socket.recv_fds(control, 2 * _MESSAGE_BYTES, 250)
        if not message:
            os._exit(0)
        start: Start = pickle.loads(message)
        _join_mounts(os.getppid())
        if _fork_sibling():
            for fd in fds:
                os.close(fd)
            continue
        if start.has_session:
            os.setsid()
        # As with an execution, the session is there when the client gets the id, by which it may kill the group.
        control.send(str(os.getpid()).encode())
        control.close()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.fork():
            theirs.close()
            _client = _Client(_arrange(start, fds, ours))
            return start
        ours.close()
        control = _isolate(theirs)


def _join_mounts(process: int) -> None:
    """Let new processes see what the process that asks for them has mounted in a namespace of its own."""
    path = f"/proc/{process}/ns/mnt"
    if os.readlink(path) == os.readlink("/proc/self/ns/mnt"):
        return
    namespace = os.open(path, os.O_RDONLY)
    os.setns(namespace, os.CLONE_NEWNS)
    os.close(namespace)


def _isolate(control: socket.socket) -> socket.socket:
    """Make this process the server of its parent, with no descriptor of the parent and a session of its own."""
    os.setsid()
    number = fcntl.fcntl(control.detach(), fcntl.F_DUPFD_CLOEXEC, 3)
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    _close_all_but({0, 1, 2, number})
    return socket.socket(fileno=number)


def _arrange(start: Start, fds: Sequence[int], client: socket.socket) -> socket.socket:
    """Give each descriptor its number, close all others, and return the client's socket at its new number."""
    above = max(start.fds) + 1
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD, above) for fd in fds]
    number = fcntl.fcntl(client.detach(), fcntl.F_DUPFD_CLOEXEC, above)
    for target, fd in zip(start.fds, moved, strict=True):
        os.dup2(fd, target)
    _close_all_but({*start.fds, number})
    return socket.socket(fileno=number)


def _close_all_but(kept: set[int]) -> None:
    for fd in [int(name) for name in os.listdir("/proc/self/fd")]:
        if fd not in kept:
            with suppress(OSError):
                os.close(fd)


def run(start: Start, paths: Sequence[str]) -> None:
    """Run the module in this process as `python -m` does."""
    for limit, values in zip(_LIMITS, start.limits, strict=True):
        resource.setrlimit(limit, values)
    os.umask(start.umask)
    os.chdir(start.folder)
    os.environ.clear()
    os.environ.update(start.environment)
    time.tzset()
    if start.environment.items() >= unsynced_disk.VARIABLES.items():
        unsynced_disk.install()
    sys.path[:] = [
        *([] if start.is_safe_path else [start.folder]),
        *filter(None, start.environment.get("PYTHONPATH", "").split(os.pathsep)),
        *paths,
    ]
    for name, fd, mode, buffering in (("stdin", 0, "r", -1), ("stdout", 1, "w", -1), ("stderr", 2, "w", 1)):
        old = getattr(sys, name)
        lines = 1 if os.isatty(fd) else buffering
        stream = open(fd, mode, lines, old.encoding, old.errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    setproctitle(" ".join(start.command))
    spec = importlib.util.find_spec(start.module)
    assert spec is not None
    assert spec.origin is not None
    sys.argv, sys.orig_argv = [spec.origin, *start.arguments], list(start.command)
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=spec.origin, __spec__=spec, __package__=spec.parent)
    sys.modules["__main__"] = module
    code: Any = 1
    try:
        exec(spec.loader.get_code(start.module), module.__dict__)  # type: ignore[union-attr]
        code = None
    except SystemExit as ending:
        code = ending.code
    except KeyboardInterrupt:
        sys.excepthook(*sys.exc_info())
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    _end(code)


def _end(code: Any) -> None:
    """End this process as the interpreter does, but do not clear the memory, which would copy what is shared."""
    if not isinstance(code, int | None):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit((code or 0) & 0xFF)


def _fork_sibling() -> int:
    """Fork a process whose parent is the parent of this one. Return its id, and 0 in the new process.

    `os.fork` can't do this. The kernel writes the thread's id of the new process where glibc keeps it, as `fork` does.
    """
    c, python = ctypes.PyDLL(None), ctypes.pythonapi
    flags = _CLONE_PARENT | _CLONE_CHILD_SETTID | signal.SIGCHLD
    c.syscall.restype = ctypes.c_long
    python.PyOS_BeforeFork()
    pid = int(c.syscall(*map(ctypes.c_long, (_SYS_CLONE, flags, 0, 0, _thread_id_address(), 0))))
    if pid == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError("the fork server of the tests could not fork")
    return pid


def _thread_id_address() -> int:
    """Return where glibc keeps the id of the main thread, or 0 if that place is not found."""
    c = ctypes.PyDLL(None)
    c.pthread_self.restype = ctypes.c_ulong
    begin, wanted = c.pthread_self(), threading.main_thread().native_id
    if threading.current_thread() is not threading.main_thread():
        return 0
    words = (ctypes.c_int * 256).from_address(begin)
    found = [index for index, word in enumerate(words) if word == wanted]
    return begin + 4 * found[0] if len(found) == 1 else 0


if __name__ == "__main__":
    # As a script this module is `__main__`; messages name classes of the module that was imported.
    from support.processes import fork_server

    fork_server.main()
