"""Places to listen at, written as HOST:PORT, an address of IPv6 in brackets (RFC 3986, 3.2.2)."""

from __future__ import annotations

LISTEN = r"^(\[[0-9A-Fa-f:.]+(%[0-9A-Za-z_.-]+)?\]|[^\s:\[\]]+):[0-9]{1,5}$"
LOOPBACKS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 # what a configuration may name


def split_place(text: str) -> tuple[str, int]:
    """Split `host:port`; the host comes without brackets."""
    host, _, port = text.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)


def place(host: str, port: int) -> str:
    """Return `host:port`, as a URL has it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def reached_at(host: str) -> str:
    """Return by which address this machine's own programs reach who listens on a host."""
    return LOOPBACKS.get(host, host)
