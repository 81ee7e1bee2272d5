"""Attributes of HRDF elements: text to values, by the rules of the file's version.

Follows the HEBI Robot Configuration format 1.6.0. What cannot be read is noted as a problem and left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from motiond.text import nearest, quoted

from ..errors import BadText
from .elements import FORMULAS_SINCE
from .formula import (
    has_formula,
    leading_numbers,
    parse_formula,
    parse_matrix,
    parse_number,
    parse_rotation,
    parse_translation,
)

if TYPE_CHECKING:
    from ..errors import Where
    from ..io.xml.element import Element
    from .elements import Attribute, Rule


class AttributeReader:
    """Reads the attributes of the elements of a file of a version."""

    def __init__(self, version: str) -> None:
        self._version = version

    def read(self, element: Element, rule: Rule) -> dict[str, Any]:
        """Return all attributes of an element that can be read, as `Element.values` has them."""
        values = {}
        for name, text in element.xml.attrib.items():
            attribute = rule.attributes.get(str(name))
            if attribute is None:
                self._complain_of_attribute(element, str(name), rule)
            elif is_known_to_version(
                self._version, attribute.since, element.where, f"{name!r} of <{element.tag}>"
            ):
                value = self._value(element, str(name), str(text), attribute)
                if value is not None:
                    values[str(name)] = value
        for name, attribute in rule.attributes.items():
            if attribute.required and name not in element.xml.attrib:
                element.where.add(f"<{element.tag}> has no {name!r}", "it is required", f'write {name}="…"')
        return values

    def _complain_of_attribute(self, element: Element, name: str, rule: Rule) -> None:
        known = [known for known, attribute in rule.attributes.items() if attribute.since <= self._version]
        has = f"HRDF {self._version} knows {', '.join(known)}" if known else "it has none"
        element.where.add(f"unknown attribute {quoted(name)} of <{element.tag}>", has, nearest(name, known))

    def _value(self, element: Element, name: str, text: str, attribute: Attribute) -> Any:
        """Read one attribute; return None where it cannot be read, which has been noted."""
        if attribute.type == "enum":
            return self._choice(element, name, text, attribute)
        if attribute.type == "axis":
            return self._axis(element, name, text, attribute)
        if attribute.type in {"path", "mesh_path"}:
            return self._path(element, name, text)
        try:
            quantity = self._quantity(text, attribute)
        except BadText as error:
            element.where.add(f"{name!r} of <{element.tag}>: {error.problem}", error.reason, error.hint)
            return None
        if attribute.type == "translation":
            self._warn_of_formulas(element, name, text)
        return quantity

    def _warn_of_formulas(self, element: Element, name: str, text: str) -> None:
        """Warn where the vendor's library would place a part elsewhere than the formulas say."""
        if has_formula(text):
            read = " ".join(f"{number:g}" for number in leading_numbers(text))
            element.where.warn(
                f"{name!r} of <{element.tag}>: {quoted(text)} holds formulas",
                f"they are evaluated, but HEBI's library reads {read}, the number that each begins with",
                "write plain numbers",
            )

    def _quantity(self, text: str, attribute: Attribute) -> Any:
        formulas = self._version >= FORMULAS_SINCE
        number = parse_formula if formulas else parse_number
        match attribute.type:
            case "number":
                return number(text)
            case "translation":
                return parse_translation(text, number)
            case "rotation":
                return parse_rotation(text) if formulas else parse_matrix(text)
        return text

    def _choice(
        self, element: Element, name: str, text: str, attribute: Attribute, sign: str = ""
    ) -> str | None:
        """Read an enum; case does not matter, and messages put the sign before it."""
        by_folded = {choice.casefold(): choice for choice in attribute.choices}
        choice = by_folded.get(text.casefold())
        if choice is None:
            known = [choice for choice, since in attribute.choices.items() if since <= self._version]
            has = f"HRDF {self._version} knows {', '.join(known)}"
            element.where.add(
                f"unknown {element.tag} {name} {quoted(sign + text)}", has, nearest(text, known)
            )
            return None
        since = attribute.choices[choice]
        if not is_known_to_version(
            self._version, since, element.where, f"{element.tag} {name} '{sign}{choice}'"
        ):
            return None
        if choice != text:
            element.where.warn(
                f"{element.tag} {name} {quoted(sign + text)} is not in the case of the specification",
                hint=f"write '{sign}{choice}'",
            )
        return choice

    def _axis(self, element: Element, name: str, text: str, attribute: Attribute) -> str | None:
        """Read an axis, with a minus before it where it is negated."""
        sign = "-" if text.startswith("-") else ""
        axis = self._choice(element, name, text.removeprefix("-"), attribute, sign)
        if axis is None or not sign:
            return axis
        element.where.warn(
            f"{element.tag} {name} {quoted(text)} is not in the specification",
            "it is read as the negated axis, as HEBI's library does",
        )
        return f"-{axis}"

    def _path(self, element: Element, name: str, text: str) -> str | None:
        """Read a path, which must be relative; that of a mesh may also be empty or a web address."""
        if name == "mesh_path" and not text:
            element.where.warn(
                f"{name!r} of <{element.tag}> is empty",
                "it is read as no mesh, as HEBI's library does",
                "remove it",
            )
            return None
        if name == "mesh_path" and text.startswith(("http://", "https://")):
            return text
        fault = _path_fault(text)
        if fault:
            element.where.add(
                f"{name!r} of <{element.tag}>: {quoted(text)} {fault}", "a path is relative, with `/` in it"
            )
            return None
        return text


def is_known_to_version(version: str, since: str, where: Where, what: str) -> bool:
    """Return whether a file's version has what came with version `since`; note a problem if it has not."""
    if since <= version:
        return True
    where.add(
        f"{what} came with HRDF {since}",
        f"this file is of version {version}",
        f'write version="{since}" in <robot>',
    )
    return False


def _path_fault(path: str) -> str:
    """Return what is wrong with a relative path, or ''."""
    if not path:
        return "is empty"
    if "://" in path:
        return "is a web address"
    if path.startswith("/") or re.match("[A-Za-z]:", path):
        return "is absolute"
    return "has a backslash" if "\\" in path else ""
