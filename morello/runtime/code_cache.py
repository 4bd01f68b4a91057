"""Machine code that a process before has made, in a folder of the user.

`compile_cached` is the entry point. An entry is a file, named by a hash of everything
that its contents depend on: the module, the CPU and its features, LLVM's version and
Morello's. Its contents run in this process, so it is read only if the file and the
folder belong to the user and nobody else may write them; a database, which may come
from anyone, has no machine code in it. What is damaged, foreign or missing is compiled.
`read_entry` and `write_entry` are the same for what others make and run.

Invariant: code is loaded by `Engine.load`, which refuses it where the CPU lacks a
feature; the CPU is that of the caller, not what a file says.
"""

import contextlib
import hashlib
import json
import os
import secrets
import stat
import time
import zlib
from pathlib import Path

import llvmlite
import llvmlite.binding as lb

from morello._version import __version__
from morello.machine.architectures import HOST
from morello.runtime.engine import Compiled, Engine, compile_object

VERSION = 1
"""Version of the format, and of `engine`'s treatment of a module: a commit that changes
either raises it."""

LIMIT = 256 << 20
"""Bytes of a folder. The entries that were not read for the longest time give way."""

SUFFIX = ".code"
_NEW = ".new"
_HALF_WRITTEN = 3600.0
"""Seconds after which a file that nobody finished is left over from a crash."""

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def compile_cached(
    text: str, *, cpu: str, features: str = "", folder: Path | None
) -> Engine:
    """Compile LLVM IR, or read what was made of it before; it is not loaded yet.

    Args:
        text, cpu, features: as `engine.compile_llvm` takes them.
        folder: of the entries; it is made where its parent is. None for no cache.

    Raises:
        CompileError: a module that cannot be compiled.
        TargetError: an unknown CPU or feature.
    """
    if folder is None:
        return Engine(compile_object(text, cpu=cpu, features=features))
    key = entry_key(cpu, features, text)
    code = _unpacked(read_entry(folder, key), cpu, features)
    if code is None:
        code = compile_object(text, cpu=cpu, features=features)
        write_entry(folder, key, _packed(code))
        return Engine(code)
    return Engine(code, was_read=True)


def entries(folder: Path) -> list[Path]:
    """The files of a folder that are machine code, whole or half written."""
    try:
        paths = sorted(folder.iterdir())
    except OSError:
        return []
    return [path for path in paths if path.suffix in (SUFFIX, _NEW)]


def clear(folder: Path) -> None:
    """Delete all entries.

    Raises:
        OSError: one cannot be deleted.
    """
    for path in entries(folder):
        path.unlink(missing_ok=True)


def entry_key(*parts: str) -> str:
    """The name of what depends on some texts, the CPU, and versions."""
    versions = VERSION, __version__, llvmlite.__version__, lb.llvm_version_info
    every = repr((versions, HOST.triple, HOST.tune, HOST.other_tunes)), *parts
    return hashlib.sha256("\0".join(every).encode()).hexdigest()


def _is_ours(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE


def read_entry(folder: Path, key: str) -> bytes | None:
    """The contents of an entry; None if there is none, or it cannot be trusted or is
    damaged."""
    path = folder / f"{key}{SUFFIX}"
    try:
        status = folder.lstat()
        if not (stat.S_ISDIR(status.st_mode) and _is_ours(status)):
            return None
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        with os.fdopen(os.open(path, flags), "rb") as file:
            status = os.fstat(file.fileno())
            if not (stat.S_ISREG(status.st_mode) and _is_ours(status)):
                return None
            data = file.read(LIMIT)
        with contextlib.suppress(OSError):
            os.utime(path)  # it was read now
        digest, packed = data[:32], data[32:]
        if hashlib.sha256(packed).digest() != digest:
            return None
        return zlib.decompress(packed)
    except (OSError, zlib.error):
        return None


def write_entry(folder: Path, key: str, data: bytes) -> None:
    """Write an entry whole, for the user alone, and keep the folder within its limit.
    What cannot be written is made again by the next process."""
    with contextlib.suppress(OSError):
        _write(folder / f"{key}{SUFFIX}", zlib.compress(data, 1))


def _unpacked(data: bytes | None, cpu: str, features: str) -> Compiled | None:
    """The machine code of an entry; None if it has none."""
    if data is None:
        return None
    head, _, rest = data.partition(b"\n")
    try:
        values = json.loads(head)
        length = values["llvm"]
        return Compiled(
            llvm=rest[:length].decode(),
            object=rest[length:],
            functions=tuple(values["functions"]),
            cpu=cpu,
            features=features,
            calls=tuple(values["calls"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


def _packed(compiled: Compiled) -> bytes:
    """The contents of an entry of machine code."""
    llvm = compiled.llvm.encode()
    values = {
        "llvm": len(llvm),
        "functions": compiled.functions,
        "calls": compiled.calls,
    }
    return b"\n".join((json.dumps(values).encode(), llvm + compiled.object))


def _write(path: Path, packed: bytes) -> None:
    """Write a file whole.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(mode=0o700, exist_ok=True)
    new = path.with_name(f".{secrets.token_hex(8)}{_NEW}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(new, flags, 0o600), "wb") as file:
            file.write(hashlib.sha256(packed).digest() + packed)
        new.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
        raise
    _trim(path.parent)


def _trim(folder: Path) -> None:
    """Delete what was not read for the longest time until the rest is small enough."""
    known = []
    for path in entries(folder):
        with contextlib.suppress(OSError):  # another process deletes, too
            status = path.stat()
            if path.suffix == SUFFIX:
                known.append((status.st_mtime, status.st_size, path))
            elif time.time() - status.st_mtime > _HALF_WRITTEN:
                path.unlink()
    total = sum(size for _, size, _ in known)
    for _, size, path in sorted(known):
        if total <= LIMIT:
            break
        path.unlink(missing_ok=True)
        total -= size
