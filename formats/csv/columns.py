"""What the columns of a table are, by their titles, the line of units, and OpenSim's header."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from motiond.text import echoed, listed

from ..errors import Where
from .titles import Title, read_title, resolve, with_unit

if TYPE_CHECKING:
    from ..errors import Problems
    from .header import Header

QUOTE = "'"
# In OpenSim's files, lengths, which `inDegrees` does not mean.
_LENGTHS = ("_tx", "_ty", "_tz")
# What such a file is called that has something else than positions.
_NO_POSITIONS = ("accelerations", "actuator", "controls", "inverse dynamics", "positionerrors", "speeds")


def read_columns(header: Header, problems: Problems) -> list[Title]:
    """Return what the columns are, without those of texts; none where they have no titles."""
    where = Where(problems, header.titles_line)
    titles = [read_title(text) for text in header.titles]
    if header.units:
        titles = [with_unit(one, unit) for one, unit in zip(titles, header.units, strict=True)]
    if header.keys:
        titles = _of_opensim(titles, header, Where(problems, 1))
    titles = resolve(titles)
    if header.texts:
        texts = listed([titles[index].text for index in sorted(header.texts)], QUOTE)
        where.warn(f"left out {texts}", "joints have numbers")
    titles = [one for index, one in enumerate(titles) if index not in header.texts]
    titles = _marked_alone(titles, where)
    _check(titles, where)
    return titles


def _of_opensim(titles: list[Title], header: Header, where: Where) -> list[Title]:
    """Return titles with the unit that OpenSim's header states for all angles."""
    called, stated = header.keys[""], header.keys.get("indegrees", "")
    if called.startswith(_NO_POSITIONS):
        where.add(f"holds '{echoed(called)}'", "a motion has positions", "give the file of coordinates")
    elif stated not in {"yes", "no"}:
        shown = f"inDegrees is '{echoed(stated)}'" if stated else "the header has no inDegrees"
        hint = "write inDegrees=yes or inDegrees=no above endheader"
        where.add(shown, "angles are in degrees or in rad", hint)
    angle = "deg" if stated == "yes" else "rad"
    return [
        with_unit(one, "m" if one.name.lower().endswith(_LENGTHS) else angle)
        if one.role == "position" and not one.unit
        else one
        for one in titles
    ]


def _check(titles: list[Title], where: Where) -> None:
    for one in titles:
        if one.unknown_unit and one.role != "other":
            problem = f"column '{echoed(one.text)}' is in '{echoed(one.unknown_unit)}'"
            reason = "positions are in rad, deg, m, mm or cm, times in s, ms, us or ns"
            where.add(problem, reason, "correct its title, or remove it")
    for (name, role), count in Counter((one.name, one.role) for one in titles if one.is_of_joint).items():
        if count > 1:
            problem = f"{role} of '{echoed(name)}' stands {count} times"
            where.add(problem, "a joint has one column of it", "rename or remove the others")


def _marked_alone(titles: list[Title], where: Where) -> list[Title]:
    """Leave out columns that are not called positions where others are."""
    if not any(one.role == "position" and one.is_marked for one in titles):
        return titles
    plain = {one.text for one in titles if one.role == "position" and not one.is_marked}
    if plain:
        shown = listed([one.text for one in titles if one.text in plain], QUOTE)
        where.warn(f"left out {shown}", "other columns are called positions")
    return [replace(one, role="other") if one.text in plain else one for one in titles]
