"""Stands for a process that is started warm, and imports next to nothing itself."""

import _signal as signal  # type: ignore[import-not-found]  # the plain ones: what goes around
import _socket as socket  # them takes as long to import as all else here
import os
import sys

STREAMS = (0, 1, 2)
LENGTH = 8  # digits of what comes first: how long the rest is
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> None:
    """warm_client.py SOCKET MODULE ARGUMENTS: be that process, for whoever started this."""
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
    given = {"arguments": sys.argv[2:], "environment": dict(os.environ), "folder": os.getcwd()}
    payload = ascii(given).encode()
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.connect(sys.argv[1])
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in STREAMS)
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)
    server.sendmsg([b"%0*d" % (LENGTH, len(payload))], [rights])
    server.sendall(payload)
    process = _read_number(server)
    for number in PASSED_ON:
        signal.signal(number, lambda number, _: os.kill(process, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    code = _read_number(server)
    if code < 0:
        for number in PASSED_ON:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


def _read_number(server: socket.socket) -> int:
    """The next line that it says."""
    line = b""
    while not line.endswith(b"\n"):
        said = server.recv(1)
        if not said:
            sys.exit("the one that is warm went away")
        line += said
    return int(line)


if __name__ == "__main__":
    main()
