"""Which pairs of links a motion is held to, when it is read and when it begins."""

from __future__ import annotations

import sys
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.config.robot import RobotSettings
from motiond.daemon.config.section import ConfigError
from motiond.daemon.config.settings import load_settings
from motiond.daemon.joints import build_joint_map
from motiond.daemon.physics import PhysicsError
from motiond.daemon.planning import MotionLibrary, make_checks, preview, whole
from motiond.daemon.planning.checks import Meanwhile, collision
from motiond.daemon.tools.check import check_motions
from motiond.formats import load_robot
from tests.daemon.physics.robots import URDF, WEDGE, crane, write_stl
from tests.daemon.rig import write_seq

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.joints import JointMap
    from motiond.daemon.planning import Entry
    from motiond.daemon.tools.check import Finding

RATE_HZ = 100
JOINTS = ("turn", "nod", "drive", "swing")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a crane, a motion of all its joints, and one that only swings the hook."""
    crane(tmp_path)
    at = 0.5 - 0.5 * np.cos(np.linspace(0.0, 2 * np.pi, 401))[:, None]
    write_seq(tmp_path / "lower.seq", at * [1.0, -0.4, 0.1, 0.2], JOINTS, RATE_HZ)
    write_seq(tmp_path / "swing.seq", at * [0.3], ("swing",), RATE_HZ)
    return tmp_path


def settings_of(folder: Path, options: dict[str, Any]) -> RobotSettings:
    robot = {
        "model": folder / "crane.urdf",
        "driver": {"type": "sim"},
        "motions": [folder],
        "collision": options,
    }
    return RobotSettings.model_validate(robot)


def library_of(folder: Path, **options: Any) -> MotionLibrary:
    settings = settings_of(folder, options)
    model = load_robot(folder / "crane.urdf")
    joint_map = build_joint_map("crane", model, settings.joints)
    library = MotionLibrary(joint_map, settings, checks=make_checks(settings, model, joint_map))
    library.load_all()
    return library


def entry(library: MotionLibrary, name: str) -> Entry:
    found = library.get(name)
    assert found is not None
    return found


def test_a_motion_has_its_nearest_pair_in_list_and_preview(folder: Path) -> None:
    library = library_of(folder)
    found = entry(library, "lower")
    assert found.plan is not None
    nearest = found.payload()["nearest"]
    about, _ = preview(whole(found.plan), library.joint_map)
    assert about["nearest"] == nearest
    assert set(nearest) == {"links", "distance_m", "time", "points", "margin_m", "posture"}
    assert nearest["margin_m"] == 0.005
    assert 0.0 < nearest["distance_m"] < 0.1
    row = round(nearest["time"] * found.plan.rate_hz)
    assert nearest["posture"] == pytest.approx(found.plan.positions[row], abs=0.02)


def test_pairs_that_depend_on_joints_which_it_leaves_alone_are_looked_at_as_it_begins(folder: Path) -> None:
    library = library_of(folder, margin_m=0.13)
    found = entry(library, "swing")
    assert found.plan is not None, "jib and hook alone depend on more than the hook's joint"
    (check,) = library.checks
    held = library.joint_map.initial.copy()
    high = check.of_held(found.plan.track, Meanwhile(held, np.zeros(4), np.zeros(4)), library.joint_map)
    held[1] = 0.9
    low = check.of_held(found.plan.track, Meanwhile(held, np.zeros(4), np.zeros(4)), library.joint_map)
    assert low.about is not None
    assert high.about is not None
    assert low.about["distance_m"] < high.about["distance_m"]


@pytest.mark.parametrize(("walls", "last"), [(4, "1 more pair comes"), (5, "2 more pairs come")])
def test_the_three_nearest_are_named_and_the_others_counted(folder: Path, walls: int, last: str) -> None:
    names = [f"wall{number}" for number in range(walls)]
    workspace = [{"name": name, "plane": [0, 0, 1], "position": [0, 0, 10]} for name in names]
    links = ["base", "mast", "jib", "trolley", "hook"]
    ignore = [*combinations(links, 2), *product(links[:-1], names)]
    found = entry(library_of(folder, margin_m=1.0, workspace=workspace, ignore=ignore), "lower")
    lines = found.reason.splitlines()
    assert len(lines) == 4
    assert "`collision.margin_m` is 1 m; " in lines[0]
    assert lines[3] == f"lower: and {last} too near"


def test_nothing_is_taken_for_clear_while_a_joint_is_nobody_knows_where(folder: Path) -> None:
    library = library_of(folder)
    plan = entry(library, "swing").plan
    assert plan is not None
    (check,) = library.checks
    held = library.joint_map.initial.copy()
    held[1] = np.nan
    for look in (check.of_way, check.of_held):
        assert look(plan.track, Meanwhile(held, np.zeros(4), np.zeros(4)), library.joint_map).refusals == (
            "joint 'nod' has no measured position; how near links come is unknown; check the actuator",
        )


def test_what_is_known_of_rows_is_not_looked_for_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = library_of(folder)
    before = entry(library, "lower").payload()["nearest"]
    monkeypatch.setattr(collision, "sweep", None)
    library.joint_map = build_joint_map("crane", load_robot(folder / "crane.urdf"), {})
    library.load_all()
    assert entry(library, "lower").payload()["nearest"] == before


def checked(folder: Path, robot: str) -> tuple[list[Finding], list[str]]:
    (folder / "motiond.yaml").write_text(
        f"robots: {{crane: {{model: crane.urdf, driver: {{type: sim}}, motions: [lower.seq], {robot}}}}}"
    )
    lines: list[str] = []
    return check_motions(load_settings(folder / "motiond.yaml"), (), lines.append), lines


def test_check_warns_of_what_touches_where_the_description_begins(folder: Path) -> None:
    (folder / "crane.urdf").write_text(URDF.replace('radius="0.06"', 'radius="0.16"'))
    (finding,), lines = checked(folder, "collision: {}")
    assert lines[-1] == (
        "crane: warning: where the description begins, these are less than 5 mm apart: mast and trolley; "
        "whatever leads there is a collision; name what may touch in `collision.ignore`, as [mast, trolley]"
    )
    assert finding.problems[0].startswith("lower: links 'mast' and 'trolley' are ")
    (finding,), lines = checked(folder, "collision: {ignore: [[mast, trolley]]}")
    assert not [line for line in lines if "apart" in line]
    assert finding.payload()["physics"]["nearest"]["links"]


def test_check_reports_poses_as_it_reports_motions(folder: Path) -> None:
    ground = "workspace: [{name: ground, plane: [0, 0, 1], position: [0, 0, 0.4]}]"
    ignore = "ignore: [[mast, ground]]"
    poses = "poses: {low: {turn: 0.0, nod: 1.2}, high: {turn: 0.0, nod: 0.0}, far: {drive: 9.0}}"
    for does in ("reject", "warn"):
        found, _ = checked(folder, f"collision: {{{ground}, {ignore}, on_violation: {does}}}, {poses}")
        by_name = {one.motion: one for one in found if one.kind == "pose"}
        assert [*by_name] == ["pose low", "pose high", "pose far"]
        low = by_name["pose low"]
        lines = low.problems if does == "reject" else low.warnings
        assert lines[0].startswith("pose low: 'ground' and 'jib' are ")
        assert lines[0].split("; ")[0].endswith(" mm in each other")
        assert bool(low.problems) == (does == "reject")
        assert by_name["pose high"].problems == ()
        assert by_name["pose far"].violations[0].kind == "upper"
    found, _ = checked(folder, poses)
    assert [one.motion for one in found if one.kind == "pose"] == ["pose far"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"ignore": [["jib", "hok"]]},
            "ignore names 'hok'; no link or shape with that name can touch; did you mean 'hook'?",
        ),
        (
            {"workspace": [{"name": "press", "mesh": "press.stl"}]},
            "workspace 'press': mesh 'press.stl' cannot be read; there is no file press.stl; check the path",
        ),
    ],
)
def test_what_is_asked_for_in_vain_is_refused(folder: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(PhysicsError) as refusal:
        library_of(folder, **options)
    assert str(refusal.value) == f"crane: collision: {message}"


def test_without_a_description_there_is_nothing_to_check(joint_map: JointMap) -> None:
    settings = RobotSettings.model_validate(
        {
            "driver": {"type": "sim"},
            "joints": {"a": {"limits": {"lower": -1, "upper": 1, "velocity": 1}}},
            "collision": {},
        }
    )
    with pytest.raises(PhysicsError) as refusal:
        make_checks(settings, None, joint_map)
    assert str(refusal.value) == (
        "arm: collision: cannot be checked; there is no description; name one with `model`, or remove it"
    )


@pytest.fixture
def joint_map() -> JointMap:
    settings = {"a": {"limits": {"lower": -1, "upper": 1, "velocity": 1}}}
    robot = RobotSettings.model_validate({"driver": {"type": "sim"}, "joints": settings})
    return build_joint_map("arm", None, robot.joints)


def test_without_mujoco_it_is_refused_with_how_to_install_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(PhysicsError) as refusal:
        library_of(folder)
    assert str(refusal.value).startswith("crane: collision: needs MuJoCo, which cannot be imported; ")
    assert str(refusal.value).endswith("; pip install 'motiond[physics]'")


def test_a_mesh_of_the_workspace_counts(folder: Path) -> None:
    write_stl(folder / "press.stl", WEDGE)
    shape = {"name": "press", "mesh": folder / "press.stl", "position": [0.35, 0.0, 0.45]}
    found = entry(library_of(folder, workspace=[shape]), "lower")
    assert found.plan is None
    assert "'press' and " in found.reason


@pytest.mark.parametrize(
    ("section", "message"),
    [
        (
            "workspace: [{name: a}]",
            "'a' has no shape; it is one of them; give it box, plane or mesh",
        ),
        (
            "workspace: [{name: a, box: [1, 1, 1], plane: [0, 0, 1]}]",
            "'a' has box and plane; it is one of them; give it box, plane or mesh",
        ),
        (
            "workspace: [{name: a, kind: allowed, plane: [0, 0, 1]}]",
            "'a' is allowed and a plane; what links have to be in is a box; make it one",
        ),
        ("workspace: [{name: a, plane: [0, 0, 0]}]", "'a' points nowhere; its plane is 0; name a direction"),
        (
            "workspace: [{name: a, box: [1, 1, 1]}, {name: a, plane: [0, 0, 1]}]",
            "'a' stands twice; a shape has a name of its own; rename one",
        ),
        (
            "ignore: [[a, b], [b, b]]",
            "'b' stands twice in a pair; nothing is compared with itself; name what it may be near",
        ),
    ],
)
def test_shapes_that_are_none_are_refused(folder: Path, section: str, message: str) -> None:
    (folder / "motiond.yaml").write_text(
        f"robots: {{crane: {{model: crane.urdf, driver: {{type: sim}}, collision: {{{section}}}}}}}"
    )
    with pytest.raises(ConfigError) as refusal:
        load_settings(folder / "motiond.yaml")
    assert str(refusal.value).endswith(message)
