"""Mesh files: whether one may be shown, and how it is opened for whoever wants to see it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from motiond.text import printable, quoted

from ..errors import BadText
from ..model.shapes import Mesh
from .foreign import lfs_pointer
from .regular_file import open_regular
from .resources import find_resource
from .source import MOVE_IT, SizeBound

if TYPE_CHECKING:
    from ..errors import Where
    from ..model.shapes import MeshFormat
    from .source import Source

MESH_SIZE = SizeBound(64_000_000, "a mesh", "save it with fewer triangles, or as binary STL or GLB")
STL_HEAD_BYTES, STL_TRIANGLE_BYTES = 84, 50
"""Of a binary one; the head ends with the number of triangles."""
STL_WORD_WITHIN_BYTES = 9
"""So near to its beginning a text has `solid`, which its readers look for."""
STL_LOOK_BYTES = 1 << 16
FORMATS: dict[str, MeshFormat] = {
    ".stl": "stl",
    ".obj": "obj",
    ".gltf": "gltf",
    ".glb": "glb",
    ".dae": "dae",
}
KNOWN = "STL, OBJ, glTF, GLB and COLLADA (.dae) are"


def find_mesh(source: Source) -> Mesh:
    """Return the mesh in a file, which is not opened unless it is a glTF that may want others.

    Raises `BadText` if it may not be shown: it lies where nothing may be read, is missing, too large, or of
    another format, or is a glTF with buffers in other files.
    """
    name = f"mesh '{source.name}'"
    format_ = FORMATS.get(source.path.suffix.lower())
    try:
        if not source.allowed():
            raise _outside(name, source.within)
        if format_ is None:
            raise BadText(name, KNOWN, "convert it")
        size = source.path.stat().st_size if source.path.is_file() else None
    except (OSError, RuntimeError, ValueError) as error:
        if isinstance(error, BadText):
            raise
        # Before Python 3.13, Path.resolve raises RuntimeError where symbolic links lead in a ring.
        raise BadText(name, str(error), "check the path") from error
    if size is None:
        raise BadText(name, f"there is no file {source.name}", "check the path")
    _refuse_large(name, size)
    mesh = Mesh(source.path, format_, source.readable)
    if format_ == "gltf":
        _refuse_outer_buffers(name, mesh)
    return mesh


def mesh_of(uri: str, source: Source, where: Where) -> Mesh | None:
    """Return the mesh that a URI in a file means; None where it cannot be shown, which is noted."""
    try:
        return find_mesh(find_resource(uri, source))
    except BadText as error:
        reason, hint = error.reason, error.hint
    except (OSError, RuntimeError) as error:
        # Before Python 3.13, Path.resolve raises RuntimeError where symbolic links lead in a ring.
        reason, hint = str(error), "check the path"
    where.warn(f"mesh {quoted(uri)} is not shown", reason, hint)
    return None


def open_mesh(mesh: Mesh) -> BinaryIO:
    """Open a mesh's file, if it still is what it may be; what lies under its name may have been changed.

    Raises `BadText` if it cannot be read, or may not be.
    """
    name = f"mesh '{mesh.path.name}'"
    try:
        file = open_regular(mesh.path)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise BadText(name, f"cannot be read: {reason}", "check the file") from error
    try:
        _refuse_outside(name, file, mesh.within)
        _refuse_large(name, os.fstat(file.fileno()).st_size)
    except BaseException:
        file.close()
        raise
    return file


def refuse_damaged(mesh: Mesh) -> None:
    """Look into the file of an STL mesh; of the others, only whether it can be read and was downloaded.

    Raises `BadText` if it cannot be read, or nobody could draw it.
    """
    with open_mesh(mesh) as file:
        if pointer := lfs_pointer(file.read(STL_HEAD_BYTES)):
            raise BadText(f"mesh '{mesh.path.name}' {pointer.problem}", pointer.reason, pointer.hint)
        file.seek(0)
        if mesh.format == "stl" and not _is_whole_stl(file, os.fstat(file.fileno()).st_size):
            reason = "its file is damaged, holds no triangles or is not STL"
            raise BadText(f"mesh '{mesh.path.name}' cannot be drawn", reason, "export it again")


def _is_whole_stl(file: BinaryIO, size: int) -> bool:
    head = file.read(STL_HEAD_BYTES)
    triangles = int.from_bytes(head[-4:], "little") if len(head) == STL_HEAD_BYTES else 0
    needs = STL_HEAD_BYTES + STL_TRIANGLE_BYTES * triangles
    if b"solid" not in head[:STL_WORD_WITHIN_BYTES] or size == needs:
        return triangles > 0 and size >= needs
    begin = head + file.read(STL_LOOK_BYTES)
    file.seek(max(0, size - STL_LOOK_BYTES))
    return b"vertex" in begin and b"endsolid" in file.read()


def _refuse_outside(name: str, file: BinaryIO, within: tuple[Path, ...]) -> None:
    """Look where the open file lies: a link may have taken its place since its path was looked at."""
    real = Path(f"/proc/self/fd/{file.fileno()}").readlink()
    if within and not any(real.is_relative_to(folder.resolve()) for folder in within):
        raise _outside(name, within)


def _outside(name: str, within: tuple[Path, ...]) -> BadText:
    return BadText(name, f"it lies outside of {', '.join(map(str, within))}", MOVE_IT)


def _refuse_large(name: str, size: int) -> None:
    if size > MESH_SIZE.most_bytes:
        reason = f"it has {size} bytes, and {MESH_SIZE.kind} has at most {MESH_SIZE.most_bytes}"
        raise BadText(name, reason, MESH_SIZE.hint)


def _refuse_outer_buffers(name: str, mesh: Mesh) -> None:
    """Look into a glTF: only the file itself is served, and its shapes may be in others."""
    try:
        with open_mesh(mesh) as file:
            uris = [_uri(buffer) for buffer in json.load(file).get("buffers", [])]
    except (AttributeError, TypeError, ValueError, RecursionError) as error:
        if isinstance(error, BadText):
            raise
        raise BadText(name, "its file is damaged or is not glTF", "export it again") from error
    for uri in uris:
        if uri and not uri.startswith("data:"):
            reason = f"its buffer '{printable(uri[:100])}' is another file, which is not served"
            raise BadText(name, reason, "save it with its buffers in it, or as GLB")


def _uri(buffer: dict[str, Any]) -> str:
    uri = buffer.get("uri", "")
    if not isinstance(uri, str):
        raise TypeError
    return uri
