"""Chunks made ready in the background, while the one before is worked on.

PyArrow and NumPy leave the interpreter, so one plain thread is enough. No more than a few chunks
wait at any time: memory stays where it is, however fast the reader is.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterable
from typing import TypeVar

__all__ = ["ahead"]

T = TypeVar("T")

# How often a thread that nobody takes chunks from looks whether it is to end, in seconds.
_LOOKS = 0.05


def ahead(chunks: Iterable[T], *, depth: int = 1) -> Generator[T, None, None]:
    """Yield the chunks, of which the next ``depth`` are made ready by a thread.

    An error of theirs is raised here, in its place. The thread ends when this iterator does.
    """
    ready: queue.Queue[tuple[T | None, BaseException | None, bool]] = queue.Queue(depth)
    ended = threading.Event()

    def hand_over(item: tuple[T | None, BaseException | None, bool]) -> bool:
        while not ended.is_set():
            try:
                ready.put(item, timeout=_LOOKS)
            except queue.Full:
                continue
            return True
        return False

    def work() -> None:
        iterator = iter(chunks)
        try:
            for chunk in iterator:
                if not hand_over((chunk, None, False)):
                    break
            else:
                hand_over((None, None, True))
        except BaseException as error:
            hand_over((None, error, True))
        finally:
            # A generator closes its files here, in the thread that opened them.
            close = getattr(iterator, "close", None)
            if close is not None:
                close()

    thread = threading.Thread(target=work, name="abstain-ahead", daemon=True)
    thread.start()
    try:
        while True:
            chunk, error, last = ready.get()
            if error is not None:
                raise error
            if last:
                return
            yield chunk  # type: ignore[misc]
    finally:
        ended.set()
        thread.join()
