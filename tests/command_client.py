"""A command line of the lit suite, run by `command_server.py`: a script that imports
little, as ``python -S command_client.py SOCKET MODULE ARGUMENT…``."""

import marshal
import os
import socket
import sys

CRASHED = 134
"""As a shell says it of a process that has called ``abort``."""


def main(path: str, command: list[str]) -> int:
    """Have a command run; its exit code."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        folder = os.getcwd()  # noqa: PTH109 - to import pathlib takes as long as all
        data = marshal.dumps((folder, dict(os.environ), command))
        sent = socket.send_fds(connection, [data], [0, 1, 2])
        connection.sendall(data[sent:])
        connection.shutdown(socket.SHUT_WR)
        code = connection.recv(1)
    return code[0] if code else CRASHED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
