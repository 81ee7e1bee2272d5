"""Folders of models and meshes that the environment names, as Gazebo and ROS have them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDERS = ("GZ_SIM_RESOURCE_PATH", "IGN_GAZEBO_RESOURCE_PATH", "GAZEBO_MODEL_PATH", "SDF_PATH")
PREFIXES, WORKSPACES = "AMENT_PREFIX_PATH", "ROS_PACKAGE_PATH"
VARIABLES = (*FOLDERS, PREFIXES, WORKSPACES)
_FUEL_CACHE = "GZ_FUEL_CACHE_PATH"
_FUEL_CACHES = ("~/.gz/fuel", "~/.ignition/fuel")


def resource_folders() -> tuple[Path, ...]:
    """Return the folders that the environment names, and Fuel's caches."""
    named = (folder for variable in VARIABLES for folder in folders_in(variable))
    return (*named, *(cache for cache in fuel_caches() if cache.is_dir()))


def folders_in(variable: str) -> Iterator[Path]:
    """Return the folders that a variable of the environment names."""
    return (Path(folder) for folder in os.environ.get(variable, "").split(os.pathsep) if folder)


def fuel_caches() -> list[Path]:
    """Return where Gazebo keeps what it has downloaded from Fuel."""
    named = os.environ.get(_FUEL_CACHE)
    # Without a home, Path's own would raise.
    return [Path(os.path.expanduser(one)) for one in ([named] if named else _FUEL_CACHES)]  # noqa: PTH111
