"""Keeps how a gamepad jogs a robot, in a file of the configuration's folder."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, cast

import orjson
from pydantic import ValidationError

from motiond.text import echoed, listed, nearest

from ..api import GamepadMapping, RequestError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..api import GamepadAnswer, SaveGamepadAnswer

MOST_BYTES = 65_536


class GamepadFile:
    """The mapping of one robot's gamepad. Everything here takes time, and is done in a thread.

    - `robot`: the robot's name, for messages
    - `file`: a JSON object of `GamepadMapping`
    - `joints`: those that the robot has
    """

    def __init__(self, robot: str, file: Path, joints: Sequence[str]) -> None:
        self._robot, self._file, self._joints = robot, file, joints

    def read(self) -> GamepadAnswer:
        """Return what is kept, or why that cannot be used."""
        try:
            with self._file.open("rb") as file:
                mapping = GamepadMapping.model_validate_json(file.read(MOST_BYTES))
        except FileNotFoundError:
            return {"mapping": None, "problem": None}
        except OSError as error:
            return self._unusable((error.strerror or str(error)).lower())
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"] if not str(part).startswith("["))
            return self._unusable(f"{place}: {first['msg']}" if place else first["msg"])
        if unknown := self._unknown(mapping):
            return self._unusable("; ".join(filter(None, unknown)))
        return {"mapping": cast("GamepadMapping", mapping.model_dump()), "problem": None}

    def _unusable(self, reason: str) -> GamepadAnswer:
        return {"mapping": None, "problem": f"{self._file}: {reason}; correct it, or save another"}

    def save(self, mapping: GamepadMapping) -> SaveGamepadAnswer:
        """Replace what is kept, whole or not at all.

        Raises RequestError: INVALID_REQUEST where it names a joint that the robot has not, DISK_TROUBLE.
        """
        if unknown := self._unknown(mapping):
            raise RequestError("INVALID_REQUEST", self._robot, *unknown)
        try:
            self._file.parent.mkdir(exist_ok=True)
            self._replace(
                orjson.dumps(mapping.model_dump(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
            )
        except OSError as error:
            problem, reason = f"{self._file} cannot be written", (error.strerror or str(error)).lower()
            hint = "let the daemon write there, or name another folder by `gamepads`"
            raise RequestError("DISK_TROUBLE", self._robot, problem, reason, hint) from error
        return {"file": str(self._file)}

    def _replace(self, content: bytes) -> None:
        with NamedTemporaryFile(dir=self._file.parent, prefix=".gamepad-", delete=False) as new:
            try:
                new.write(content)
                new.flush()
                os.fsync(new.fileno())
                Path(new.name).replace(self._file)
            except BaseException:
                with suppress(OSError):
                    Path(new.name).unlink()
                raise

    def _unknown(self, mapping: GamepadMapping) -> tuple[str, str, str] | None:
        """Return what is wrong with the first joint that the robot has not."""
        for name in mapping.joints:
            if name not in self._joints:
                known = f"it has {listed(self._joints)}"
                return f"no joint '{echoed(name)}'", known, nearest(name, self._joints)
        return None
