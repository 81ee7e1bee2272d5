"""Mesh files: which may be shown, and what is opened when somebody looks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from motiond.formats import BadText, Mesh
from motiond.formats.io.mesh_file import MESH_SIZE, find_mesh, open_mesh, refuse_damaged
from motiond.formats.io.source import Source
from tests.tables import table

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.formats.model.shapes import MeshFormat

TOO_LARGE = (
    "it has 64000001 bytes, and a mesh has at most 64000000; "
    "save it with fewer triangles, or as binary STL or GLB"
)


def sparse(path: Path, size: int) -> Path:
    """Make a file of a size that takes no room."""
    with path.open("wb") as file:
        file.truncate(size)
    return path


def refusal(path: Path, folder: Path) -> str:
    with pytest.raises(BadText) as refused:
        find_mesh(Source(path, (folder,)))
    return str(refused.value)


def opened(mesh: Mesh) -> str:
    with pytest.raises(BadText) as refused:
        open_mesh(mesh)
    return str(refused.value)


def test_a_mesh_of_the_largest_size_is_shown_and_opened(tmp_path: Path) -> None:
    mesh = find_mesh(Source(sparse(tmp_path / "a.stl", MESH_SIZE.most_bytes), (tmp_path,)))
    with open_mesh(mesh) as file:
        assert file.read(4) == b"\0\0\0\0"


def test_a_larger_one_is_neither_shown_nor_opened(tmp_path: Path) -> None:
    file = sparse(tmp_path / "a.stl", MESH_SIZE.most_bytes + 1)
    assert refusal(file, tmp_path) == f"mesh '{file}'; {TOO_LARGE}"
    assert opened(Mesh(file, "stl", (tmp_path,))) == f"mesh 'a.stl'; {TOO_LARGE}"


def test_a_folder_and_a_ring_of_links_are_no_meshes(tmp_path: Path) -> None:
    folder, ring = tmp_path / "a.stl", tmp_path / "ring.stl"
    folder.mkdir()
    ring.symlink_to(ring)
    assert refusal(folder, tmp_path) == f"mesh '{folder}'; there is no file {folder}; check the path"
    assert "ring.stl" in refusal(ring, tmp_path)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.stl")
    assert (
        opened(Mesh(tmp_path / "a.stl", "stl"))
        == "mesh 'a.stl'; cannot be read: it is a pipe; check the file"
    )


def test_a_link_that_took_the_place_of_a_mesh_is_not_followed_out_of_the_folders(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "a.stl").touch()
    mesh = find_mesh(Source(folder / "a.stl", (folder,)))
    (tmp_path / "secret").touch()
    (folder / "a.stl").unlink()
    (folder / "a.stl").symlink_to(tmp_path / "secret")
    assert opened(mesh) == (
        f"mesh 'a.stl'; it lies outside of {folder}; move it there, or name its folder in `resource_paths`"
    )


def test_a_mesh_that_has_gone_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.stl").touch()
    mesh = find_mesh(Source(tmp_path / "a.stl", (tmp_path,)))
    (tmp_path / "a.stl").unlink()
    assert opened(mesh) == "mesh 'a.stl'; cannot be read: No such file or directory; check the file"


def test_a_gltf_with_its_buffers_in_it_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "a.gltf"
    file.write_text('{"buffers": [{"byteLength": 4}, {"uri": "data:application/octet-stream;base64,AAAA"}]}')
    assert find_mesh(Source(file, (tmp_path,))) == Mesh(file, "gltf", (tmp_path,))


def test_a_gltf_whose_buffers_are_other_files_is_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "a.gltf"
    file.write_text('{"buffers": [{"uri": "data:,"}, {"uri": "arm.bin"}]}')
    assert refusal(file, tmp_path) == (
        f"mesh '{file}'; its buffer 'arm.bin' is another file, which is not served; "
        "save it with its buffers in it, or as GLB"
    )


@pytest.mark.parametrize(
    "content",
    ["", "glTF", "[]", '{"buffers": 1}', '{"buffers": [1]}', '{"buffers": [{"uri": 1}]}', "[" * 99_999],
)
def test_a_file_that_is_no_gltf_is_not_shown(tmp_path: Path, content: str) -> None:
    file = tmp_path / "a.gltf"
    file.write_text(content)
    assert refusal(file, tmp_path) == f"mesh '{file}'; its file is damaged or is not glTF; export it again"


BINARY = b"made by a program".ljust(80) + (2).to_bytes(4, "little") + bytes(100)
TEXT = (
    b"solid a\n facet normal 0 0 1\n outer loop\n" + 3 * b"vertex 0 0 0\n" + b"endloop endfacet\nendsolid a\n"
)


@pytest.mark.parametrize("content", [BINARY, BINARY + b"more", b"solid" + BINARY[5:], TEXT])
def test_a_whole_stl_is_not_complained_of(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.stl").write_bytes(content)
    refuse_damaged(Mesh(tmp_path / "a.stl", "stl"))


@table("content")
def test_a_damaged_stl_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.stl").write_bytes(content)
    with pytest.raises(BadText) as refused:
        refuse_damaged(Mesh(tmp_path / "a.stl", "stl"))
    assert str(refused.value) == (
        "mesh 'a.stl' cannot be drawn; its file is damaged, holds no triangles or is not STL; export it again"
    )


@pytest.mark.parametrize("format_", ["stl", "obj", "dae"])
def test_a_mesh_that_git_lfs_has_not_downloaded_is_told(tmp_path: Path, format_: MeshFormat) -> None:
    (tmp_path / "a").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n")
    with pytest.raises(BadText) as refused:
        refuse_damaged(Mesh(tmp_path / "a", format_))
    assert str(refused.value) == (
        "mesh 'a' is a Git LFS pointer; the file itself was not downloaded; "
        "run `git lfs pull` in its repository"
    )


def test_of_a_mesh_that_is_no_stl_only_whether_it_can_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_bytes(b"")
    refuse_damaged(Mesh(tmp_path / "a.obj", "obj"))
    (tmp_path / "a.obj").unlink()
    with pytest.raises(
        BadText, match=r"^mesh 'a.obj'; cannot be read: No such file or directory; check the file$"
    ):
        refuse_damaged(Mesh(tmp_path / "a.obj", "obj"))
