"""A thread that no program waits for."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from threading import Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class DaemonThread(Executor):
    """Runs each function in a thread of its own, which ends with the program. `name`: that of the threads."""

    def __init__(self, name: str) -> None:
        self._name = name

    def submit(self, work: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        """Start a function."""
        future = Future[Any]()
        future.set_running_or_notify_cancel()  # nothing cancels what a thread does

        def run() -> None:
            try:
                future.set_result(work(*args, **options))
            except BaseException as error:  # noqa: BLE001 - it is the future's
                future.set_exception(error)

        Thread(target=run, name=self._name, daemon=True).start()
        return future
