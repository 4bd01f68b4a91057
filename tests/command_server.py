"""Commands of Morello as forks of a process that has imported it.

A command of the lit suite is small, and would spend nine tenths of its time on imports.
`serving` starts a server; `command_client.py` stands for the program in a command line:
it hands its arguments, folder, environment and standard streams to the server, and
leaves with the exit code of the command. What is different from a process of its own:
the modules are there, and functions that numba has compiled are loaded.
"""

import contextlib
import gc
import importlib
import marshal
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

SECONDS = 60
"""After which a command is ended."""

STREAMS = 3


@contextlib.contextmanager
def serving(path: Path) -> Iterator[None]:
    """A server at a socket, whose path must be short, until the end of the block."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.command_server", str(path)],
        cwd=Path(__file__).resolve().parent.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        yield
    finally:
        server.communicate()  # the end of its input is its end


def _serve(path: str) -> None:
    """Answer until standard input ends: also when whoever has started this dies."""
    _warm_up()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        os.write(1, b"ready\n")
        while True:
            readable, _, _ = select.select([listener.fileno(), 0], [], [])
            if 0 in readable:
                return
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _answer(connection)
            connection.close()
            _reap()


def _reap() -> None:
    """Take note of the children that have ended."""
    with contextlib.suppress(ChildProcessError):  # there is none
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _warm_up() -> None:
    """Import what commands import while they run, and search once."""
    from morello.tools.morello import main

    importlib.import_module("filecheck.main")
    for module in ("morello_opt", "opt.session", "opt.worker"):
        importlib.import_module(f"morello.tools.{module}")
    os.environ["MORELLO_DB"] = "none"
    main(["emit", "matmul:4x4x8:f32", "--stage", "asm", "-o", os.devnull])
    gc.collect()
    gc.freeze()


def _answer(connection: socket.socket) -> NoReturn:
    """Be the command that a client asks for."""
    try:
        signal.alarm(SECONDS)
        data, streams, _, _ = socket.recv_fds(connection, 1 << 16, STREAMS)
        while more := connection.recv(1 << 16):
            data += more
        folder, variables, (module, *arguments) = marshal.loads(data)
        for place, stream in enumerate(streams):
            os.dup2(stream, place)
            os.close(stream)
        # The old ones know the position in what was open before.
        sys.stdin = os.fdopen(0, closefd=False)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(variables)
        connection.send(bytes([_run(module, arguments)]))
    finally:
        os._exit(0)  # the client has the code of the command, if there is one


def _run(module: str, arguments: list[str]) -> int:
    """What ``python -m module`` does; its exit code."""
    sys.argv = [module, *arguments]
    try:
        try:
            sys.exit(importlib.import_module(module).main())
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return int(error.code or 0)
        print(error.code, file=sys.stderr, flush=True)
        return 1
    except BaseException:  # noqa: BLE001 - as the interpreter ends on any of them
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        return 1


if __name__ == "__main__":
    _serve(sys.argv[1])
