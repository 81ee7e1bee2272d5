"""Models and meshes that a URI names: where they are looked for, in which order, and what a refusal lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from motiond.formats import Source
from motiond.formats.errors import BadText
from motiond.formats.io.resource_folders import VARIABLES
from motiond.formats.io.resources import find_resource
from tests.tables import table

FUEL = "fuel/fuel.gazebosim.org/openrobotics/models/wheel"


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("GZ_FUEL_CACHE_PATH", "fuel")


def make(path: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("")


def found(uri: str, file: str = "yard/yard.sdf") -> str:
    """Return where a URI in a file leads, without the steps that lead back."""
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    source = Source(Path(file), resource_paths=(Path("configured"),))
    return str(find_resource(uri, source).path.resolve().relative_to(Path.cwd()))


def refusal(uri: str) -> str:
    with pytest.raises(BadText) as refused:
        found(uri)
    return str(refused.value)


@table("variable, folder, uri, place")
def test_a_model_is_found_in_the_folders_of(
    variable: str, folder: str, uri: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(place)
    with pytest.raises(BadText):
        found(uri)
    monkeypatch.setenv(variable, f"none::{folder}")
    assert found(uri) == place


def test_the_first_place_of_a_model_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    places = ["yard/wheel/a.stl", "wheel/a.stl", "configured/wheel/a.stl"]
    for variable in VARIABLES:
        monkeypatch.setenv(variable, variable)
        share = "share/" if variable == "AMENT_PREFIX_PATH" else ""
        places.append(f"{variable}/{share}wheel/a.stl")
    places.append(f"{FUEL}/2/a.stl")
    for place in reversed(places):
        make(place)
        assert found("model://wheel/a.stl") == place


@table("uri, place")
def test_what_gazebo_has_downloaded_is_found(uri: str, place: str) -> None:
    for version in ("1", "9", "10"):
        make(f"{FUEL}/{version}/meshes/a.dae")
    assert found(uri) == f"{FUEL}/{place}"


def test_a_package_is_found_around_the_file_that_names_it() -> None:
    make("src/arm_description/meshes/a.stl")
    uri = "package://arm_description/meshes/a.stl"
    assert found(uri, "src/arm_description/urdf/arm.urdf") == "src/arm_description/meshes/a.stl"
    assert found(uri, "src/arm_description/arm.urdf") == "src/arm_description/meshes/a.stl"


def test_what_was_looked_at_is_listed_where_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDF_PATH", "sdf")
    monkeypatch.setenv("AMENT_PREFIX_PATH", "ros")
    monkeypatch.setenv("ROS_PACKAGE_PATH", "ws")
    assert refusal("model://wheel/a.stl") == (
        "cannot find 'model://wheel/a.stl'; there is no yard/wheel/a.stl, yard/../wheel/a.stl, "
        "configured/wheel/a.stl, sdf/wheel/a.stl, ros/share/wheel/a.stl, ws/wheel/a.stl; "
        "check the name, or name the folder that holds 'wheel' in `resource_paths` or GZ_SIM_RESOURCE_PATH"
    )


def test_what_was_not_downloaded_is_named_with_the_command_that_does() -> None:
    uri = "https://fuel.gazebosim.org/1.0/OpenRobotics/models/wheel"
    assert refusal(uri) == (
        f"cannot find '{uri}'; it is not in {FUEL}, and nothing is fetched from the network; "
        f"download it: `gz fuel download -u {uri}`"
    )
