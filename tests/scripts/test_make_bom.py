"""What ships has a licence that lets it, and its text."""

from __future__ import annotations

import pytest

from scripts.make_bom import ROOT, LicenceError, licences


def package(name: str, licence: str, text: str = "Do as you like.") -> dict[str, str]:
    url = f"https://example.org/{name}"
    return {"Name": name, "Version": "1.0", "License": licence, "LicenseText": text, "URL": url}


def test_each_package_stands_with_its_licence_in_full() -> None:
    told = licences(
        [
            package("one", "MIT"),
            package("two", "MPL-2.0 AND (Apache-2.0 OR MIT)", "Long\n"),
            package("three", "ISC License (ISCL)"),
            package("four", "BSD License; MIT License"),
        ],
        {},
    )
    assert told.split(f"\n{'-' * 80}\n\n")[:2] == [
        "one 1.0\nMIT\nhttps://example.org/one\n\nDo as you like.\n",
        "two 1.0\nMPL-2.0 AND (Apache-2.0 OR MIT)\nhttps://example.org/two\n\nLong\n",
    ]
    assert "\nfour 1.0\n" in told


def test_what_may_not_be_passed_on_is_refused_with_all_others() -> None:
    with pytest.raises(LicenceError) as refused:
        licences([package("one", "GPL-3.0 AND MIT"), package("two", "UNKNOWN"), package("six", "MIT")], {})
    hint = (
        "it is not weighed yet; leave the package out, or weigh the licence and add it to scripts/make_bom.py"
    )
    assert str(refused.value).splitlines() == [
        f"one 1.0: licence GPL-3.0; {hint}",
        f"two 1.0: licence UNKNOWN; {hint}",
    ]


def test_a_text_that_a_package_ships_without_is_added_or_asked_for() -> None:
    without = [package("serial", "BSD License", "UNKNOWN")]
    assert "The text.\n" in licences(without, {"serial": "The text.\n"})
    with pytest.raises(LicenceError) as refused:
        licences(without, {"other": "The text.\n"})
    assert str(refused.value) == (
        "serial 1.0: no licence text; the package ships without it; "
        "add it from its sources as debian/licences/serial.txt"
    )


def test_licences_that_stand_by_are_whole() -> None:
    texts = {file.stem: file.read_text() for file in (ROOT / "debian" / "licences").glob("*.txt")}
    assert "Redistributions in binary form must reproduce the above" in texts["pyserial"]
