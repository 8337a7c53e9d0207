"""Which signals ask a worker to stop, and what a history says of each."""

import signal

from quire.domain.reasons import StopCause


def stop_causes() -> dict[signal.Signals, StopCause]:
    """The signals to listen to, with what each means.

    A closed terminal's is left alone where it is ignored, as nohup has it, or has its own meaning.
    """
    causes = {signal.SIGINT: StopCause.INTERRUPT, signal.SIGTERM: StopCause.TERMINATE}
    hangup = getattr(signal, "SIGHUP", None)  # Windows has none
    if hangup is not None and signal.getsignal(hangup) is signal.SIG_DFL:
        causes[hangup] = StopCause.HANGUP
    return causes
