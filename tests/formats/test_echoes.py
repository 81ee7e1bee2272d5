"""No message echoes more than sixty characters of a value, whatever the format and whatever is wrong."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from lxml import etree

from motiond.daemon.config.section import ConfigError
from motiond.daemon.config.settings import load_settings
from motiond.formats import FormatError, Problem, load_motions, load_robots
from motiond.text import LONGEST_VALUE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
GOOD = ROOT / "tests" / "files" / "good"
# Some look as if they were paths, or ended in mid-quote.
LONG = ("q" * 500, "q " * 250, "1" * 500, "1 " * 250, "/arm" * 125, "q'; " * 125, f"{'q' * 49}' " * 10)
MOST_PLACES = 25
_TOO_LONG = re.compile(
    rf"q{{{LONGEST_VALUE + 1}}}|(?:q ){{31}}|1{{{LONGEST_VALUE + 1}}}|(?:1 ){{31}}"
    rf"|(?:/arm){{16}}|(?:q'; ){{16}}|(?:q{{49}}' ?){{2}}"
)


def messages_of(load: Callable[[Path], object], file: Path) -> str:
    try:
        loaded = load(file)
    except (FormatError, ConfigError) as error:
        return str(error)
    one = loaded if isinstance(loaded, list) else []
    return "\n".join(warning for item in one for warning in item.warnings)


def xml_with(text: bytes, values: Iterator[str]) -> Iterator[bytes]:
    """Yield an XML file once with each of its attributes, texts and elements' names replaced."""
    places = [*enumerate(etree.fromstring(text).iter(etree.Element))][:MOST_PLACES]
    for index, element in places:
        for key in element.attrib:
            yield changed(text, index, attribute=(str(key), next(values)))
        yield changed(text, index, text=next(values))
        yield changed(text, index, tag="_" + re.sub("[ ';/]", "_", next(values)))


def changed(file: bytes, index: int, *, attribute: tuple[str, str] | None = None, **parts: str) -> bytes:
    root = etree.fromstring(file)
    element = [*root.iter(etree.Element)][index]
    if attribute:
        element.set(*attribute)
    for name, value in parts.items():
        setattr(element, name, value)
    return etree.tostring(root)


def yaml_with(text: bytes, values: Iterator[str]) -> Iterator[bytes]:
    """Yield a YAML file once with each of its scalars replaced, keys too."""
    events = [*yaml.parse(text, yaml.CSafeLoader)]
    scalars = [index for index, event in enumerate(events) if isinstance(event, yaml.ScalarEvent)]
    for index in scalars[: 2 * MOST_PLACES]:
        for implicit in ((True, False), (False, True)):
            style = None if implicit[0] else '"'
            new = yaml.ScalarEvent(None, None, implicit, next(values), style=style)
            edited = [*events[:index], new, *events[index + 1 :]]
            yield yaml.emit(edited, Dumper=yaml.CSafeDumper, width=10_000).encode()


def text_with(text: bytes, values: Iterator[str]) -> Iterator[bytes]:
    """Yield a text once with each of its words replaced."""
    for word in [*re.finditer(rb"[^\s,{}]+", text)][: 2 * MOST_PLACES]:
        yield text[: word.start()] + next(values).encode() + text[word.end() :]


FILES = [
    (load_robots, GOOD / "scale.hrdf", xml_with),
    (load_robots, GOOD / "workshop.skel", xml_with),
    (load_robots, GOOD / "crane.sdf", xml_with),
    (load_robots, GOOD / "urdf" / "picker.urdf", xml_with),
    (load_motions, GOOD / "gestures.xmdi", xml_with),
    (load_motions, GOOD / "two_feet.seq", yaml_with),
    (load_motions, GOOD / "old_wave.seq", yaml_with),
    (load_motions, GOOD / "reach.pseq", yaml_with),
    (load_motions, GOOD / "ros" / "wave.yaml", yaml_with),
    (load_motions, GOOD / "nod.motion", text_with),
    (load_motions, GOOD / "bow.bvh", text_with),
    (load_motions, GOOD / "tables" / "states.csv", text_with),
    (load_settings, ROOT / "config" / "demo.yaml", yaml_with),
]


@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize(("load", "file", "variants"), FILES, ids=[file.name for _, file, _ in FILES])
def test_no_message_echoes_more_than_sixty_characters_of_a_value(
    load: Callable[[Path], object],
    file: Path,
    variants: Callable[[bytes, Iterator[str]], Iterator[bytes]],
    first: int,
    tmp_path: Path,
) -> None:
    """Each place has two of the values: which, turns from place to place."""
    told = set()
    values = itertools.cycle([*LONG[first:], *LONG[:first]])
    for number, text in enumerate(variants(file.read_bytes(), values)):
        path = tmp_path / f"{number}{file.suffix}"
        path.write_bytes(text)
        told |= {message.replace(str(tmp_path), "") for message in messages_of(load, path).splitlines()}
    assert told
    assert [message for message in sorted(told) if _TOO_LONG.search(message)] == []


def test_what_is_quoted_is_cut_and_what_stands_between_quotes_is_not() -> None:
    between = "it knows many other names, of which each is as good as any of the others, such as"
    told = str(Problem("a.seq", 1, f"unknown '{'a' * 61}'", f"'b' is none; {between} 'c'", f"<{'d' * 70}>"))
    assert told == f"a.seq:1: unknown '{'a' * 59}…'; 'b' is none; {between} 'c'; <{'d' * 59}…>"
    path = f"/{'folder/' * 20}arm.hrdf"
    assert str(Problem("a.hrdf", 1, f"may not include '{path}'")) == f"a.hrdf:1: may not include '{path}'"
    long = f"'/{'a' * 59}…'"
    assert str(Problem("a.hrdf", 1, f"may not include '/{'a' * 90}'")).endswith(long[:60] + "…'")
    assert str(Problem("a.seq", 1, f"unknown '{'a' * 60}'")) == f"a.seq:1: unknown '{'a' * 60}'"
