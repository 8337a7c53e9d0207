"""The event loop that the engine's work runs in: this thread's, or in a notebook another's."""

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress

from quire.dispatch.stop_signals import stop_causes


def run_loop(
    work: Callable[[], Coroutine[None, None, bool]], interrupt: Callable[[], None]
) -> bool:
    """Run a coroutine to its end; in a notebook, whose loop is busy with us, on another thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run_coroutine(work())
    return _run_in_thread(work, interrupt)


def _run_in_thread(
    work: Callable[[], Coroutine[None, None, bool]], interrupt: Callable[[], None]
) -> bool:
    """Work on a thread of its own, and wait for it.

    A notebook's stop button interrupts whoever waits, not the thread: that one is told so, and
    stores what is out before the interrupt goes on its way.
    """
    outcome: Future[bool] = Future()

    def target() -> None:
        try:
            outcome.set_result(_run_coroutine(work()))
        except BaseException as error:  # noqa: BLE001 - carried to the caller's thread
            outcome.set_exception(error)

    thread = threading.Thread(target=target, name="quire-work")
    with _interrupts_raised():
        try:
            thread.start()
            return outcome.result()
        except KeyboardInterrupt:
            while not outcome.done():
                with suppress(KeyboardInterrupt):  # once more, and nothing is waited for
                    interrupt()
                    wait([outcome])
            raise
        finally:
            thread.join()


@contextmanager
def _interrupts_raised() -> Iterator[None]:
    """Have Ctrl-C raise here: a loop that waits for us would only hear of it afterwards."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _run_coroutine(work: Coroutine[None, None, bool]) -> bool:
    """Use uvloop where it is installed: the same loop, for about a quarter less CPU a call."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(work)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # not on every system, and not needed on any
    except ImportError:
        return None
    made: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return made


def can_handle_signals() -> bool:
    """Whether signals can be taken here: in the main thread, and not inside another loop."""
    if threading.current_thread() is not threading.main_thread():
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return True
    return False


def stop_signals() -> tuple[signal.Signals, ...]:
    """The signals that a worker takes for a wish to stop."""
    return tuple(stop_causes())
