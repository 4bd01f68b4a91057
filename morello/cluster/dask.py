"""The workers of a Dask scheduler, as an executor.

Dask is an extra (``pip install 'morello[dask]'``) and is imported where it is used. A
worker that dies is the scheduler's concern: it runs the jobs again that were there.
"""

import contextlib
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import Any

from morello.cluster.fingerprint import source_fingerprint
from morello.cluster.solve_all import ClusterError
from morello.errors import shortened

CONNECT_SECONDS = 30
"""How long the scheduler and a first worker are waited for."""

SEND_SECONDS = 2
"""How long a worker is waited for that takes no data, as one does that is closing."""


class DaskExecutor(Executor):
    """An executor of jobs on the workers of a scheduler.

    Args:
        address: of the scheduler, as ``tcp://HOST:PORT``.

    Raises:
        ClusterError: Dask is not installed, nobody answers, there is no worker, or one
            has another Morello than this process.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._client = _client(address)
        try:
            self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
            refuse_others(self._client.run(source_fingerprint, on_error="return"))
        except TimeoutError as error:
            self._client.close()
            raise ClusterError(
                f"the scheduler {address} has no workers",
                f"start one on each machine: dask worker {address}",
            ) from error
        except BaseException:
            self._client.close()
            raise
        self._pool = self._client.get_executor(pure=False, retries=2)
        self._shipped: dict[int, tuple[bytes, Any]] = {}

    @property
    def _max_workers(self) -> int:
        """How many jobs run at once, which changes as workers come and go."""
        with self._reaching():
            threads: dict[str, int] = self._client.nthreads()
        return max(1, sum(threads.values()))

    @contextlib.contextmanager
    def _reaching(self) -> Iterator[None]:
        """Turn a failure to reach the scheduler into a `ClusterError`.

        Raises:
            ClusterError: it is gone.
        """
        try:
            yield
        except OSError as error:
            raise ClusterError(
                f"the scheduler {self._address} is gone: {shortened(str(error))}",
                "start it again; what came is stored, and the same call goes on from "
                "there",
            ) from error

    def submit(
        self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        """Hand out a call; bytes among the arguments go to each worker once."""
        ready = [self._sent(a) if isinstance(a, bytes) else a for a in args]
        with self._reaching():
            future: Future[Any] = self._pool.submit(fn, *ready, **kwargs)
        return future

    def _sent(self, data: bytes) -> Any:
        """Bytes on every worker, so that none is lost with the one that has them.

        A worker that dies while it gets them is left out: where none has them, they go
        with the job. To each by itself, as a broadcast of Dask tries for ever to reach
        one that died meanwhile.
        """
        if not data:
            return data
        shipped = self._shipped.get(id(data))
        if shipped is None or shipped[1].status != "finished":
            sent = self._on_workers(data)
            if sent is None:
                return data
            shipped = (data, sent)
            self._shipped = {id(data): shipped}  # Dask keeps it for jobs that need it
        return shipped[1]

    def _on_workers(self, data: bytes) -> Any:
        """Find the handle of bytes that are on the workers; None if they are on
        none."""
        name, sent = f"morello-{uuid.uuid4().hex}", None
        with contextlib.suppress(OSError):  # the scheduler is gone, as the job will see
            for worker in self._client.nthreads():
                # Of one that is gone there are errors of many kinds, a KeyError too.
                with contextlib.suppress(Exception):
                    sent = self._client.scatter(
                        {name: data}, workers=[worker], timeout=SEND_SECONDS
                    )[name]
        return sent

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the scheduler; its workers go on."""
        self._pool.shutdown(wait=wait and not cancel_futures)
        self._client.close()


def refuse_others(fingerprints: dict[str, object]) -> None:
    """Refuse workers with another Morello before they take a job.

    Args:
        fingerprints: by worker its `source_fingerprint`, or why it has none.

    Raises:
        ClusterError: at least one is to be refused.
    """
    mine = source_fingerprint()
    others = {name: has for name, has in fingerprints.items() if has != mine}
    for name, has in others.items():
        what = (
            f"has Morello {has}, and this process has {mine}"
            if isinstance(has, str)
            else f"has no such Morello ({shortened(str(has))})"
        )
        raise ClusterError(
            f"{len(others)} of {len(fingerprints)} workers are refused: {name} {what}",
            "install the same Morello there, or stop these workers",
        )


def _client(address: str) -> Any:
    try:
        import distributed
    except ImportError as error:
        raise ClusterError(
            f"Dask cannot be imported ({error})", "pip install 'morello[dask]'"
        ) from error
    try:
        return distributed.Client(
            address, timeout=CONNECT_SECONDS, set_as_default=False
        )
    except (OSError, ValueError) as error:
        reason = shortened(str(error).partition("\n")[0])
        raise ClusterError(
            f"the scheduler {address} does not answer: {reason}",
            "give the address that 'dask scheduler' prints, as tcp://HOST:8786",
        ) from error
