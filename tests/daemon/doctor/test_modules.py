"""What is said of the HEBI modules that a configuration names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.config.robot import DriverSettings
from motiond.daemon.doctor.modules import check_modules, interfaces_of
from motiond.daemon.doctor.report import Check, Verdict
from motiond.drivers.base import DriverConfigError
from motiond.drivers.hebi.lookup import LOOKUP_POLL_S

if TYPE_CHECKING:
    from collections.abc import Sequence

DEVICES = {"arm": ("hebi:Arm/base", "hebi:Arm/elbow"), "cart": ("serial:/dev/ttyUSB0",)}


class Entry:
    """A module that the lookup has seen."""

    def __init__(self, name: str, *, is_stale: bool = False) -> None:
        self.family, self.name, self.is_stale = "Arm", name, is_stale


class Network:
    """A network on which modules are seen one after the other, as somebody looks."""

    def __init__(self, *entries: Entry) -> None:
        self._entries = entries
        self._looks = 0
        self.interfaces: Sequence[str] | None = None

    def look(self, interfaces: Sequence[str]) -> Any:
        self.interfaces = interfaces
        return self

    @property
    def entrylist(self) -> list[Entry | None]:
        self._looks += 1
        return [None, *self._entries[: self._looks]]


async def test_modules_that_answer_one_after_the_other_are_all_found() -> None:
    found = await check_modules(DEVICES, (), Network(Entry("other"), Entry("elbow"), Entry("base")).look)
    assert found == Check(
        check="hebi",
        verdict=Verdict.OK,
        found="all 2 modules, in 0.1 s",
        means="power, cables and the network are as they should be",
        figures={"modules": 2, "found_in_s": found.figures["found_in_s"]},
    )
    assert found.figures["found_in_s"] == pytest.approx(2 * LOOKUP_POLL_S)


FAILED = "robots with these modules stay offline until they are there"


@pytest.mark.parametrize(
    ("entries", "found", "means", "hint"),
    [
        (
            [Entry("bass"), Entry("elbow"), Entry("base", is_stale=True)],
            "not found in 3 s: Arm/base; found Arm/bass, Arm/elbow",
            FAILED,
            "did you mean 'Arm/bass'?",
        ),
        (
            [],
            "not found in 3 s: Arm/base, Arm/elbow; found no modules at all",
            FAILED,
            "check power, cables and the network",
        ),
        (
            [Entry("base"), Entry("base"), Entry("elbow")],
            "2 modules are called Arm/base",
            "hebi-py would take any of them",
            "rename all but one with HEBI Scope",
        ),
    ],
)
async def test_modules_that_are_missing_gone_or_there_twice_are_named(
    entries: list[Entry], found: str, means: str, hint: str
) -> None:
    check = await check_modules(DEVICES, (), Network(*entries).look)
    assert (check.verdict, check.found, check.means, check.hint) == ("failure", found, means, hint)


async def test_without_hebi_py_it_is_said_what_to_install() -> None:
    def look(_: Sequence[str]) -> Any:
        raise DriverConfigError(
            "driver hebi",
            "hebi-py cannot be imported",
            "No module named 'hebi'",
            "pip install 'motiond[hebi]'",
        )

    found = await check_modules(DEVICES, (), look)
    assert (found.verdict, found.found, found.hint) == (
        "failure",
        "hebi-py cannot be imported; No module named 'hebi'",
        "pip install 'motiond[hebi]'",
    )


async def test_without_modules_nobody_looks() -> None:
    def look(_: Sequence[str]) -> Any:
        raise AssertionError

    found = await check_modules({"cart": DEVICES["cart"]}, (), look)
    assert (found.verdict, found.found) == ("not applicable", "the configuration names no HEBI module")


def settings(**options: Any) -> DriverSettings:
    return DriverSettings.model_construct(**options)


async def test_the_network_is_searched_where_the_drivers_search_it() -> None:
    hebi = settings(type="hebi", interfaces=["eth1"])
    parts = {"wrist": {"type": "hebi", "interfaces": ["eth0"]}, "hand": {"type": "sim"}}
    both = [hebi, settings(type="composite", parts=parts)]
    assert interfaces_of(both) == ["eth0", "eth1"]
    assert interfaces_of([*both, settings(type="hebi")]) == []
    network = Network(Entry("base"), Entry("elbow"))
    await check_modules(DEVICES, both, network.look)
    assert network.interfaces == ["eth0", "eth1"]
