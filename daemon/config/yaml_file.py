"""Reads a YAML file into a checked pydantic model; every mistake comes at once, each with its line.

The YAML is 1.1 as libyaml reads it, but for two things that surprise: keys are texts, so that a marker may be
called `on`, and `1e-3` is a number, as in YAML 1.2.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from motiond.drivers.yaml_bounds import YamlBoundError, YamlBounds
from motiond.formats import FormatError, Problem
from motiond.formats.io import SizeBound, Source, explained, foreign_format, nests_too_deeply, unreadable
from motiond.text import echoed, nearest

from .secrets import without_password
from .section import ConfigError, Section, SettingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pydantic_core import ErrorDetails

    Loc = tuple[str, ...]

CONFIG_SIZE = SizeBound(1_000_000, "a configuration", "check that it is the right file")
MOST_PROBLEMS = 100  # wording a mistake takes up to some milliseconds
MOST_DIGITS = 40  # of a whole number; turning more into a number takes time that grows with their square
TOO_DEEP = ("nests too deeply", f"{YamlBounds().levels} levels do", "flatten it")

_STR, _INT, _FLOAT, _MERGE = (f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "merge"))


SectionType = TypeVar("SectionType", bound=Section)


class _Loader(yaml.CSafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - PyYAML's own signature
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():  # a tag may ask for one
            if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                key.tag = _STR
        return super().construct_mapping(node, deep)

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Put merged keys in their place; those that the mapping has itself are its own."""
        own = [pair for pair in node.value if pair[0].tag != _MERGE]
        super().flatten_mapping(node)
        merged = {key.value: (key, value) for key, value in node.value[: len(node.value) - len(own)]}
        for key, _ in own:
            if isinstance(key, yaml.ScalarNode):
                merged.pop(key.value, None)
        node.value = [*merged.values(), *own]

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: FBT001, FBT002 - PyYAML's own signature
        """Construct a value; PyYAML itself does not expect that a date or a number may be impossible."""
        if node.tag == _INT and len(node.value) > MOST_DIGITS:
            what = f"a whole number of {len(node.value)} characters; {MOST_DIGITS} are read"
            raise yaml.constructor.ConstructorError(None, None, what, node.start_mark)
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError, TypeError, OverflowError) as error:
            what = f"{_quoted(node.value)!r} is no {node.tag.rpartition(':')[2]}"
            raise yaml.constructor.ConstructorError(None, None, what, node.start_mark) from error


_Loader.add_implicit_resolver(
    _FLOAT, re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def load_config(path: Path, kind: type[SectionType]) -> SectionType:
    """Read and check a configuration file; relative paths in it are relative to its folder.

    Raises ConfigError with every mistake, each as `file:line: problem; reason; hint`.
    """
    try:
        return load_yaml(path, kind, {"folder": path.absolute().parent})
    except FormatError as error:
        raise ConfigError(error.problems) from error


def load_yaml(
    path: Path,
    kind: type[SectionType],
    context: Mapping[str, Any] | None = None,
    *,
    aliases: bool = True,
    size: SizeBound = CONFIG_SIZE,
) -> SectionType:
    """Read and check a file; `aliases`: whether `*name` may repeat what stands elsewhere.

    Raises FormatError with every mistake, each as `file:line: problem; reason; hint`, in the order of the
    lines; of very many, with the first hundred and the number of the others.
    """
    source = Source(path)
    data = source.read(size)
    values, lines, problems = _parse(data, source.name, aliases=aliases)
    found: list[ErrorDetails] = []
    try:
        checked = kind.model_validate(values, context=context)
    except ValidationError as error:
        found = error.errors(include_url=False)
        problems += [
            one for some in found[:MOST_PROBLEMS] for one in _as_problems(some, kind, lines, source.name)
        ]
    if problems:
        if foreign := foreign_format(data):
            raise FormatError([Problem(source.name, 0, *foreign)])
        shown = sorted(problems[:MOST_PROBLEMS], key=lambda problem: problem.line)
        if more := len(problems[MOST_PROBLEMS:]) + len(found[MOST_PROBLEMS:]):
            shown.append(Problem(source.name, 0, f"{more} more problems", "", "correct these first"))
        raise FormatError(shown)
    return checked


def _parse(data: bytes, file: str, *, aliases: bool) -> tuple[Any, Mapping[Loc, int], list[Problem]]:
    """Return the values of a YAML document, the line of each key, and the keys that stand twice."""
    lines: dict[Loc, int] = {}
    problems: list[Problem] = []
    try:
        YamlBounds(aliases=aliases).check(data, _Loader)
        loader = _Loader(data)
        node = loader.get_single_node()
        values = {} if node is None else loader.construct_document(node)
    except YamlBoundError as error:
        raise FormatError([Problem(file, error.line, error.problem, error.reason, error.hint)]) from error
    except yaml.MarkedYAMLError as error:
        explanation = explained(error, data)
        line = explanation.line + 1 if error.problem_mark else 0
        if nests_too_deeply(error):
            raise FormatError([Problem(file, line, *TOO_DEEP)]) from error
        reason = without_password(explanation.reason)
        raise FormatError([Problem(file, line, "not valid YAML", reason, explanation.hint)]) from error
    except yaml.reader.ReaderError as error:
        raise FormatError([_unreadable(error, data, file)]) from error
    twice: set[Loc] = set()
    for path, line in _keys(node, ()):
        if path in lines:
            twice.add(path)
            if path[:-1] not in twice and len(problems) < MOST_PROBLEMS:
                first = f"it stands on line {lines[path]} too"
                problem = f"key '{_quoted(path[-1])}' stands twice"
                problems.append(Problem(file, line, problem, first, "remove one"))
        lines.setdefault(path, line)
    return values, lines, problems


def _unreadable(error: yaml.reader.ReaderError, data: bytes, file: str) -> Problem:
    """Return what is wrong with a file that is no text, or one of another format."""
    if foreign := foreign_format(data):
        return Problem(file, 0, *foreign)
    line, reason, hint = unreadable(error, data)
    return Problem(file, line + 1, "not valid YAML", reason, hint)


def _keys(node: yaml.Node | None, path: Loc, depth: int = 0) -> Iterator[tuple[Loc, int]]:
    """Walk every key and list item with its line; deeper than any setting lies, nothing is of interest."""
    if depth > 8:
        return
    if isinstance(node, yaml.MappingNode):
        children = [(key.value, key, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)]
    elif isinstance(node, yaml.SequenceNode):
        children = [(str(index), item, item) for index, item in enumerate(node.value)]
    else:
        return
    for name, place, child in children:
        yield (*path, name), place.start_mark.line + 1
        yield from _keys(child, (*path, name), depth + 1)


_NO_PLACES = ("[key]", "[one]", "[several]", "[path]", "[folder]", "[number]", "[by unit]")
"""What pydantic adds to a place: it is the key itself, or which of two forms was met there."""
_KINDS = {
    "model_type": ("it must be a mapping", "write `key: value` under it"),
    "dict_type": ("it must be a mapping", "write `key: value` under it"),
    "list_type": ("it must be a list", "write it in [ ]"),
}


def _as_problems(
    details: ErrorDetails, kind: type[BaseModel], lines: Mapping[Loc, int], file: str
) -> list[Problem]:
    """Return what pydantic found as problems, at the line of the nearest key that exists."""
    loc = tuple(str(part) for part in details["loc"] if part not in _NO_PLACES)
    error = details.get("ctx", {}).get("error")
    if not isinstance(error, SettingError):
        return [Problem(file, _line(loc, lines), *_parts(details, loc, kind))]
    if not error.problems:
        return [Problem(file, _line((*loc, *error.at), lines), str(error))]
    found = [((*loc, *map(str, problem.option)), problem) for problem in error.problems]
    return [
        Problem(file, _line(at, lines), option.problem, option.reason, option.hint) for at, option in found
    ]


def _line(loc: Loc, lines: Mapping[Loc, int]) -> int:
    return next((lines[loc[:end]] for end in range(len(loc), 0, -1) if loc[:end] in lines), 1)


def _parts(details: ErrorDetails, loc: Loc, kind: type[BaseModel]) -> tuple[str, str, str]:
    keys = tuple(map(_quoted, loc))
    name, where = ".".join(keys) or "the file", ".".join(keys[:-1]) or "the file"
    value = details["input"]
    what = f"{name} is of the wrong kind"
    if isinstance(value, str | int | float):
        what = (
            f"{name} is {_quoted(value)!r}" if isinstance(value, str) else f"{name} is {_quoted(repr(value))}"
        )
    match details["type"]:
        case "extra_forbidden":
            known = sorted(_section_at(loc[:-1], kind).model_fields)
            return f"unknown key '{keys[-1]}'", f"{where} knows {', '.join(known)}", nearest(loc[-1], known)
        case "missing":
            return f"'{keys[-1]}' is missing", f"{where} needs it", "add it"
        case "literal_error":
            choices = re.findall(r"'(.*?)'", details["ctx"]["expected"])
            return what, f"it must be {', '.join(choices)}", nearest(str(value), choices)
        case "too_short":
            return f"{name} is empty", "it needs at least one entry", "add one"
        case "too_long":
            most = details["ctx"]["max_length"]
            return f"{name} has more than {most} entries", "it takes no more", "remove some"
        case other:
            must = re.sub(r"^(Input|String) should", "it must", details["msg"])
            return what, *_KINDS.get(other, (must, "correct it"))


def _section_at(loc: Loc, kind: type[BaseModel]) -> type[BaseModel]:
    """Return the section that stands at a place, for what it knows."""
    keys = iter(loc)
    for key in keys:
        kinds = _inside(kind.model_fields[key].annotation)
        if dict in kinds or list in kinds:
            next(keys, None)
        kind = next(one for one in kinds if isinstance(one, type) and issubclass(one, BaseModel))
    return kind


def _inside(annotation: Any) -> list[Any]:
    """Return every type that a field's annotation is made of."""
    kinds = [get_origin(annotation) or annotation]
    return kinds + [kind for inner in get_args(annotation) for kind in _inside(inner)]


def _quoted(value: Any) -> str:
    """Return what stands in the file as messages quote it: without passwords, and cut where it is long."""
    return echoed(without_password(str(value)))
