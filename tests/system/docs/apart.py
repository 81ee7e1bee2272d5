"""Runs a program where it reaches nothing of this machine's: a network of its own, and a checkout to read.

It is started by `unshare`, in new namespaces. What a page names is there: the loopback, a machine 10.0.0.1,
the names of HOSTS, and an example whose robot bears a busy machine. The checkout cannot be written.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import subprocess
import sys

SIOCSIFFLAGS, SIOCSIFADDR, UP_AND_RUNNING = 0x8914, 0x8916, 0x41
ADDRESS = "10.0.0.1"


def main(checkout: str, hosts: str, demo: str, *program: str) -> None:
    """Bring the network up, and become the program."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", UP_AND_RUNNING))
        address = struct.pack("16sHH4s8x", b"lo:1", socket.AF_INET, 0, socket.inet_aton(ADDRESS))
        fcntl.ioctl(any_socket, SIOCSIFADDR, address)
    for source, target in ((hosts, "/etc/hosts"), (checkout, checkout)):
        subprocess.run(["mount", "--bind", source, target], check=True)
    subprocess.run(["mount", "-o", "remount,ro,bind", checkout], check=True)
    subprocess.run(["mount", "--bind", demo, f"{checkout}/config/demo.yaml"], check=True)
    os.execvp(program[0], program)  # noqa: S606 - the shell is the program


if __name__ == "__main__":
    main(*sys.argv[1:])
