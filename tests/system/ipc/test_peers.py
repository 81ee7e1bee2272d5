"""Who is at the other end of a socket, as the kernel has it."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from motiond.local import Impostor, Peer, address_of, connected, holder_of, peer_of
from tests.users import OTHER_USER, as_other_user, listening_as_other_user

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def name() -> str:
    return f"\0motiond-test-{os.getpid()}"


def test_who_listens_and_who_connects_is_known(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX) as ours, listening_as_other_user(monkeypatch, name):
        ours.connect(name)
        assert peer_of(ours) == Peer(os.getpid(), OTHER_USER)
        assert holder_of(name) == Peer(os.getpid(), OTHER_USER)


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET])
def test_the_user_of_a_socket_that_takes_no_connection_is_known(
    name: str, monkeypatch: pytest.MonkeyPatch, kind: socket.SocketKind
) -> None:
    with as_other_user(monkeypatch):
        theirs = socket.socket(socket.AF_UNIX, kind)
        theirs.bind(name)
    with theirs:
        user = OTHER_USER if os.geteuid() == 0 else os.geteuid()  # a socket is its maker's
        assert holder_of(name) == Peer(0, user)
    assert holder_of(name) is None


def test_the_user_of_a_socket_whose_queue_is_full_is_known(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listening_as_other_user(monkeypatch, name) as theirs, socket.socket(socket.AF_UNIX) as first:
        theirs.listen(0)
        first.connect(name)
        holder = holder_of(name)
        assert holder is not None
        assert holder.user == (OTHER_USER if os.geteuid() == 0 else os.geteuid())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a socket that is another user's")
def test_who_has_the_socket_of_a_daemon_without_listening_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "motiond.yaml"
    with as_other_user(monkeypatch):
        theirs = socket.socket(socket.AF_UNIX)
        theirs.bind(address_of(config))
    with theirs, pytest.raises(Impostor) as impostor:
        connected(address_of(config), config, timeout_s=1.0)
    assert str(impostor.value) == (
        f"{config}: a process of user {OTHER_USER} has the socket of its daemon, and is not believed; "
        "only root, you and the owners of the configuration and of /var/lib/motiond are; "
        "end that process, or make its user the owner of the configuration"
    )
