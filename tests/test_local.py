"""Behaviour of the look at who is at the other end of a socket."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from motiond import local
from motiond.local import Peer, believed_users, holder_of, peer_of
from tests.users import OTHER_USER, listening_as_other_user, owned_by


@pytest.fixture
def name() -> str:
    return f"\0motiond-test-{os.getpid()}"


def test_root_and_ones_own_user_are_believed_and_the_owners_of_files_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert believed_users(tmp_path / "not there") == {0, os.geteuid()}
    assert believed_users(owned_by(tmp_path, OTHER_USER, monkeypatch)) == {0, os.geteuid(), OTHER_USER}


def test_a_file_of_a_user_of_another_namespace_has_no_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All such users have one number: whoever is one of them would be believed."""
    nobody = int(Path(local.OVERFLOW_USER).read_text())
    assert believed_users(owned_by(tmp_path, nobody, monkeypatch)) == {0, os.geteuid()}


def test_who_listens_and_who_connects_is_known(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX) as ours, listening_as_other_user(monkeypatch, name):
        ours.connect(name)
        assert peer_of(ours) == Peer(os.getpid(), OTHER_USER)
        assert holder_of(name) == Peer(os.getpid(), OTHER_USER)


@pytest.mark.parametrize(
    ("peer", "said"),
    [
        (Peer(42, OTHER_USER), f"process 42 of user {OTHER_USER}"),
        (Peer(0, 0), "a process of user 0 (root)"),
    ],
)
def test_a_peer_is_said_with_its_process_and_the_name_of_its_user(peer: Peer, said: str) -> None:
    assert str(peer) == said
