"""Lets modules that libraries import, and that a command seldom needs, be loaded when they are first used."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec


class _Later(ModuleType):
    """Stands for a module until something of it is used.

    Parameters
    ----------
    spec : ModuleSpec
        Of that module, so that the import system finds what lies below it.
    functions : tuple of str
        Functions that may be imported by name without loading it; a call does.
    """

    def __init__(self, spec: ModuleSpec, functions: tuple[str, ...]) -> None:
        super().__init__(spec.name)
        self.__spec__ = spec
        if spec.submodule_search_locations is not None:
            self.__path__ = spec.submodule_search_locations
        for function in functions:
            setattr(self, function, _caller(spec.name, function))

    def __getattr__(self, name: str) -> Any:
        """Return what the module has, which is loaded for it; the import system's own questions do not."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_loaded(self.__name__), name)


def load_later(name: str, *functions: str) -> None:
    """Let a module be loaded when it is first used, unless it is there.

    Python's own `importlib.util.LazyLoader` loads it as soon as anything is imported from it by name.

    Parameters
    ----------
    name : str
        A module of a package.
    *functions : str
        What is imported from it by name without being used.
    """
    if name in sys.modules or (spec := find_spec(name)) is None:
        return
    package, _, own_name = name.rpartition(".")
    sys.modules[name] = later = _Later(spec, functions)
    setattr(import_module(package), own_name, later)


def _caller(name: str, function: str) -> Callable[..., Any]:
    def call(*given: Any, **named: Any) -> Any:
        return getattr(_loaded(name), function)(*given, **named)

    return call


def _loaded(name: str) -> ModuleType:
    if isinstance(sys.modules.get(name), _Later):
        del sys.modules[name]
    return import_module(name)
