"""Behaviour of dry runs: the same play as a daemon's, on virtual time, with the same bits everywhere."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from motiond.daemon.api import PlayRequest, RequestError
from motiond.daemon.config.section import ConfigError
from motiond.daemon.config.settings import load_settings
from motiond.daemon.telemetry.npz import save_trace
from motiond.daemon.tools.dry_run import DryRun, run_dry
from motiond.drivers.sim.command_log import read_trace
from motiond.formats import FormatError
from tests.daemon.programs import run_here
from tests.daemon.rig import JOINTS, RATE_HZ, Rig, ask, write_seq

pytestmark = pytest.mark.slow

GOLDEN = "4d90cabb78f2153cfd019e59fa27a30326c65444c5cf11160f35aeda123ec97e"
"""SHA-256 of the setpoints of `nod`, with its approach, at speed 0.7 to and fro.

Another way to plan approaches, ramps or interpolation changes it; another machine must not.
"""


PICKER = Path(__file__).parents[2] / "files" / "good" / "urdf" / "picker.urdf"
PER_JOINT = (
    "reference_position",
    "reference_velocity",
    "feedback_position",
    "feedback_velocity",
    "feedback_effort",
)


def nod() -> np.ndarray[Any, Any]:
    """Return rows that only sums and products make, so that they have the same bits on every machine."""
    u = np.arange(201) / 200
    rise = u * u * u * (10.0 - u * (15.0 - 6.0 * u))
    return 0.125 + np.outer(rise, [0.25, -0.5])


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    write_seq(tmp_path / "motions" / "nod.seq", nod(), JOINTS, RATE_HZ)
    return rig


def play(rig: Rig, motion: str = "nod", **request: Any) -> DryRun:
    checked = PlayRequest.model_validate({"motion": motion, **request})
    return run_dry(load_settings(rig.config), "arm", checked, traced=True)


def traced(dry_run: DryRun) -> dict[str, np.ndarray[Any, Any]]:
    assert dry_run.trace is not None
    return dry_run.trace


def test_a_dry_run_ends_like_a_play_and_puts_out_the_rows_bit_for_bit(rig: Rig) -> None:
    dry_run = play(rig, transaction="t1")
    trace = traced(dry_run)
    playing = np.flatnonzero(trace["state"] == "playing")
    begin = int(np.flatnonzero((trace["reference_position"] == nod()[0]).all(axis=1))[-1])
    assert dry_run.result["code"] == "SUCCESSFUL"
    assert dry_run.result["message"] == "the last row is out and held"
    assert (dry_run.result["played_s"], dry_run.result["transaction"]) == (1.0, "t1")
    assert dry_run.result["timing"]["lateness_s"] == {"p50": 0.0, "p99": 0.0, "max": 0.0}
    assert np.array_equal(trace["reference_position"][begin : begin + 201], nod())
    assert set(trace["state"][:begin]) == {"approaching", "playing"}
    assert playing.size
    assert np.abs(trace["feedback_position"][-1] - nod()[-1]).max() < 1e-3
    assert np.array_equal(trace["time_s"], np.arange(len(trace["time_s"])) * (1 / RATE_HZ))


def test_a_pipe_stays_where_a_trace_is_to_be_written(tmp_path: Path) -> None:
    path = tmp_path / "out.npz"
    os.mkfifo(path)
    with pytest.raises(FormatError) as caught:
        save_trace(path, {"rate_hz": np.array(200.0)})
    assert str(caught.value) == f"{path}: cannot be written; it is a pipe; check the path"
    assert path.is_fifo()


def test_the_trace_is_read_by_numpy_alone(rig: Rig, tmp_path: Path) -> None:
    path = tmp_path / "out.npz"
    save_trace(path, traced(play(rig)))
    with np.load(path, allow_pickle=False) as trace:
        ticks = len(trace["time_s"])
        assert {name: trace[name].shape for name in trace.files if trace[name].ndim == 2} == dict.fromkeys(
            PER_JOINT, (ticks, 2)
        )
        assert {trace[name].shape for name in ("state", "frame", "loop")} == {(ticks,)}
        assert {name: trace[name].tolist() for name in trace.files if trace[name].shape in {(), (2,)}} == {
            "joints": list(JOINTS),
            "units": ["rad", "rad"],
            "continuous": [False, False],
            "robot": "arm",
            "motion": "nod",
            "rate_hz": 200.0,
            "result": "SUCCESSFUL",
            "message": "the last row is out and held",
        }


def test_two_dry_runs_write_the_same_bytes(rig: Rig, tmp_path: Path) -> None:
    rig.driver["noise"] = 1e-4
    for name in ("first.npz", "second.npz"):
        save_trace(tmp_path / name, traced(play(rig, loop=2, ping_pong=True, speed=0.7)))
    assert (tmp_path / "first.npz").read_bytes() == (tmp_path / "second.npz").read_bytes()


def test_setpoints_have_the_same_bits_on_every_machine(rig: Rig) -> None:
    trace = traced(play(rig, loop=2, ping_pong=True, speed=0.7))
    setpoints = trace["reference_position"].astype("<f8").tobytes()
    velocities = trace["reference_velocity"].astype("<f8").tobytes()
    assert hashlib.sha256(setpoints + velocities).hexdigest() == GOLDEN


def test_a_dry_run_leaves_the_files_of_the_simulated_robot_alone(rig: Rig) -> None:
    rig.driver["faults"] = [{"fault": "crash"}]
    assert play(rig).result["code"] == "SUCCESSFUL"
    assert not (rig.folder / "trace.npy").exists()
    assert not (rig.folder / "plant.bin").exists()


def test_simulated_actuators_stand_in_for_real_ones_and_begin_within_the_limits(rig: Rig) -> None:
    rig.robot["driver"] = {"type": "hebi", "families": ["arm"]}
    rig.robot["joints"]["elbow"]["reduction"] = -2.0
    rig.robot["joints"]["shoulder"]["limits"] = {"lower": 0.1, "upper": 2.0, "velocity": 3.0}
    dry_run = play(rig)
    assert dry_run.in_place_of == "hebi"
    assert dry_run.result["code"] == "SUCCESSFUL"
    assert np.abs(traced(dry_run)["feedback_position"][0] - [0.1, 0.0]).max() < 1e-3


def test_a_play_that_would_not_succeed_does_not_here_either(rig: Rig) -> None:
    rig.driver["disable_commands"] = True
    rig.robot["tolerances"] = {"path": 0.05}
    dry_run = play(rig)
    trace = traced(dry_run)
    assert dry_run.result["code"] == "PATH_TOLERANCE_VIOLATED"
    assert dry_run.result["details"]["joint"] == "shoulder"
    assert trace["result"] == "PATH_TOLERANCE_VIOLATED"
    assert trace["state"][-1] == "idle"
    assert not trace["reference_velocity"][-1].any()


def test_markers_are_told_as_events(rig: Rig) -> None:
    (rig.folder / "motions" / "nod.markers.yaml").write_text("markers: {top: {frame: 100}}\n")
    assert play(rig).result["events"] == [
        {"kind": "marker", "message": "nod: top", "marker": "top", "loop": 1},
    ]


def test_each_pass_over_a_single_row_takes_a_tick(rig: Rig) -> None:
    write_seq(rig.folder / "motions" / "pose.seq", nod()[:1], JOINTS, RATE_HZ)
    for interpolation in ("cubic", "smooth"):
        rig.robot["interpolation"] = interpolation
        ticks = [int(play(rig, "pose", loop=loop).result["timing"]["ticks"]) for loop in (1, 51)]
        assert ticks[1] - ticks[0] == pytest.approx(50, abs=1)


def test_a_dry_run_may_report_any_number_of_markers_and_passes(rig: Rig) -> None:
    rows = np.tile(nod()[:1], (2, 1))
    write_seq(rig.folder / "motions" / "still.seq", rows, JOINTS, RATE_HZ)
    (rig.folder / "motions" / "still.markers.yaml").write_text("markers: {top: {frame: 1}}\n")
    result = play(rig, "still", loop=1000).result
    assert (result["code"], len(result["events"])) == ("SUCCESSFUL", 1000)


@pytest.mark.parametrize(
    ("robot", "request_", "message"),
    [
        ("amr", {}, "no robot 'amr'; there are arm; did you mean 'arm'?"),
        ("arm", {"motion": "nodd"}, "arm: no motion 'nodd'; there are long, nod, short; did you mean 'nod'?"),
        (
            "arm",
            {"loop": "forever"},
            "arm/play: loop is 'forever'; a dry run has to end; set it to a number",
        ),
        (
            "arm",
            {"start_at": 1.5},
            "arm/play: start_at is 1.5; a dry run is on virtual time; leave it out",
        ),
    ],
)
def test_what_cannot_be_played_is_refused(
    rig: Rig, robot: str, request_: dict[str, Any], message: str
) -> None:
    checked = PlayRequest.model_validate({"motion": "nod", **request_})
    with pytest.raises(RequestError) as caught:
        run_dry(load_settings(rig.config), robot, checked)
    assert str(caught.value) == message


async def test_a_daemon_on_virtual_time_puts_out_the_setpoints_of_the_dry_run(rig: Rig) -> None:
    rig.robot["clock"] = "virtual"
    expected = traced(play(rig, "long"))["reference_position"]
    async with rig.running() as registry:
        await rig.until_state("idle")
        begun_s = time.monotonic()
        accepted = await ask(registry, "play", motion="long")
        result = await rig.result_of(accepted["goal_id"])
        took_s = time.monotonic() - begun_s
    put_out = from_first_move(read_trace(rig.folder / "trace.npy")["position"])
    expected = from_first_move(expected)
    assert (result["code"], result["played_s"]) == ("SUCCESSFUL", 20.0)
    assert took_s < 15.0
    assert result["timing"]["lateness_s"]["max"] == 0.0
    assert np.array_equal(put_out[: len(expected)], expected)


def from_first_move(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Leave out all rows before the first that differs from the one before it."""
    moves = np.flatnonzero(np.diff(rows, axis=0).any(axis=1))
    return rows[int(moves[0]) + 1 :]


async def test_the_virtual_time_of_a_robot_at_rest_does_not_run_away(rig: Rig) -> None:
    rig.robot["clock"] = "virtual"
    async with rig.running() as registry:
        await rig.until_state("idle")
        # virtual time may run away with any motion that ends before a pause is asked for
        accepted = await ask(registry, "play", motion="long", loop="forever")
        await ask(registry, "pause")
        await rig.until_state("paused")  # until it rests, it moves in no time
        before_s, begun_s = await newest_stamp_s(rig), time.monotonic()
        await asyncio.sleep(0.3)
        passed_s, real_s = await newest_stamp_s(rig) - before_s, time.monotonic() - begun_s
        await ask(registry, "stop")
        result = await rig.result_of(accepted["goal_id"])
    assert 0.0 < passed_s <= real_s + 5.0  # it would be hours
    assert result["code"] == "CANCELED"


async def newest_stamp_s(rig: Rig) -> float:
    """Wait for telemetry from now on, and give its stamp."""
    since = len(rig.reports)
    return float((await rig.until("telemetry", lambda _: True, since))["stamp_s"])


async def test_an_appointment_is_refused_on_virtual_time(rig: Rig) -> None:
    rig.robot["clock"] = "virtual"
    async with rig.running() as registry:
        await rig.until_state("idle")
        with pytest.raises(RequestError) as caught:
            await ask(registry, "play", motion="nod", start_at=time.time() + 60.0)
    reason = "start_at is a time of the real clock; the robot's clock is virtual; leave it out"
    assert str(caught.value) == f"arm: {reason}"


@pytest.mark.parametrize(
    ("driver", "moves"),
    [
        ({"type": "sim"}, False),
        ({"type": "composite", "parts": {"a": {"type": "sim", "actuators": list(JOINTS)}}}, False),
        (
            {
                "type": "composite",
                "parts": {
                    "a": {"type": "sim", "actuators": ["shoulder"]},
                    "b": {"type": "hebi", "families": ["arm"], "actuators": ["elbow"]},
                },
            },
            True,
        ),
        ({"type": "hebi", "families": ["arm"]}, True),
    ],
)
def test_real_actuators_never_move_on_virtual_time(rig: Rig, driver: dict[str, Any], *, moves: bool) -> None:
    rig.robot |= {"clock": "virtual", "driver": driver}
    if not moves:
        assert load_settings(rig.config).robots["arm"].clock == "virtual"
        return
    with pytest.raises(ConfigError) as caught:
        load_settings(rig.config)
    reason = f"driver {driver['type']} may move real actuators, far too fast"
    end = f"clock is virtual; {reason}; make it real, or use simulated actuators"
    (problem,) = str(caught.value).splitlines()
    assert problem.endswith(end)


def command(rig: Rig, *options: object) -> tuple[object, ...]:
    return "play", "arm", "nod", "--dry-run", "-c", rig.config, *options


def test_the_command_says_how_it_went_and_writes_the_trace(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = rig.folder / "out.npz"
    code, out, err = run_here(capsys, *command(rig, "--trace", trace))
    first, second = out.splitlines()
    assert (code, err) == (0, "")
    assert first == "arm: nod ended with SUCCESSFUL; the last row is out and held"
    assert re.fullmatch(r"arm: dry run on simulated actuators; 1\.\d s of motion in \d+\.\d\d s", second)
    assert trace.is_file()


def test_the_command_fails_like_a_play(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    rig.driver["disable_commands"] = True
    rig.robot["tolerances"] = {"path": 0.05}
    code, out, err = run_here(capsys, *command(rig))
    assert code == 1
    assert out.startswith("arm: dry run on simulated actuators; ")
    assert err == (
        "arm: nod ended with PATH_TOLERANCE_VIOLATED; joint 'shoulder' is 0.125 rad off at 0.000 s (row 0); "
        "its path tolerance is 0.05 rad; look for what holds it, or raise the tolerance\n"
    )


def test_the_command_gives_the_result_of_a_play_as_json(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    rig.robot["driver"] = {"type": "hebi", "families": ["arm"]}
    code, out, _ = run_here(capsys, *command(rig, "--json"))
    told = orjson.loads(out)
    assert (code, told["code"], told["motion"]) == (0, "SUCCESSFUL", "nod")
    assert told["dry_run"]["in_place_of"] == "hebi"
    assert told["dry_run"]["lasted_s"] > 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dry-run", "--replace"], "--replace is for a daemon; a dry run asks none; leave one of them out"),
        (["--dry-run", "--queue"], "--queue is for a daemon; a dry run asks none; leave one of them out"),
        (["--dry-run", "--no-wait"], "--no-wait is for a daemon; a dry run asks none; leave one of them out"),
        (
            ["--dry-run", "--broker", "mqtt://here"],
            "--broker is for a daemon; a dry run asks none; leave one of them out",
        ),
        (["--dry-run", "--trace", "a/out.csv"], "--trace writes .npz alone, for numpy.load; name it out.npz"),
        (["--trace", "out.npz"], "--trace is written by a dry run; add --dry-run"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    code, out, err = run_here(capsys, "play", "arm", "nod", *options)
    assert (code, out) == (2, "")
    assert err == f"motiond: invalid value: {message}; see `motiond --help`\n"


KNEE = """<sdf version="1.7"><model name="leg"><link name="hip"/><link name="shin"/>
<joint name="knee" type="revolute"><parent>hip</parent><child>shin</child><axis><xyz>0 0 1</xyz>
{initial}<limit><lower>0.262</lower><upper>2.62</upper><velocity>10</velocity></limit></axis></joint>
</model></sdf>"""
SERVO = {"type": "dynamixel", "ports": [{"port": "/dev/ttyUSB0", "ids": {"knee": 1}}]}


@pytest.mark.parametrize(
    ("initial", "driver", "begins"),
    [
        ("<initial_position>1.2</initial_position>", {"type": "sim"}, 1.2),
        ("", {"type": "sim"}, 0.262),
        ("<initial_position>1.2</initial_position>", SERVO, 1.2),
        ("<initial_position>1.2</initial_position>", SERVO | {"lower_rad": 1.5, "upper_rad": 2.5}, 1.5),
    ],
)
def test_a_joint_whose_range_holds_no_0_begins_within_it(
    rig: Rig, initial: str, driver: dict[str, Any], begins: float
) -> None:
    (rig.folder / "knee.sdf").write_text(KNEE.format(initial=initial))
    write_seq(rig.folder / "motions" / "nod.seq", 1.75 + 0.25 * nod()[:, :1], ("knee",), RATE_HZ)
    rig.robot |= {"model": "knee.sdf", "joints": {}, "driver": driver}
    dry_run = play(rig)
    setpoints = traced(dry_run)["reference_position"][:, 0]
    assert (dry_run.result["code"], setpoints[0]) == ("SUCCESSFUL", pytest.approx(begins, abs=1e-4))
    assert setpoints.min() >= 0.262
    assert setpoints.max() <= 2.62


def test_a_robot_of_urdf_plays_within_its_limits(rig: Rig, tmp_path: Path) -> None:
    del rig.robot["joints"], rig.robot["approach"]
    rig.robot |= {"model": str(PICKER), "motions": ["picked"]}
    rig.robot["approach"] = {"velocity": {"rad": 1.0, "m": 0.1}, "acceleration": {"rad": 5.0, "m": 1.0}}
    rows = np.linspace(0, 1, 401)[:, np.newaxis] * [1.2, 0.15, 7.0, 0.03]
    (tmp_path / "picked").mkdir()
    for name, factor in (("pick", 1.0), ("far", 2.0)):
        names = ("shoulder", "lift", "spin", "left_finger")
        write_seq(tmp_path / "picked" / f"{name}.seq", factor * rows, names, RATE_HZ)
    dry_run = play(rig, "pick")
    trace = traced(dry_run)
    assert dry_run.result["code"] == "SUCCESSFUL"
    assert trace["joints"].tolist() == ["shoulder", "lift", "spin", "left_finger", "right_finger"]
    assert trace["units"].tolist() == ["rad", "m", "rad", "m", "m"]
    np.testing.assert_allclose(trace["reference_position"][-1], [1.2, 0.15, 7.0, 0.03, -0.03])
    with pytest.raises(RequestError) as caught:
        play(rig, "far")
    assert {"'shoulder' reaches 2.4 rad", "'lift' reaches 0.3 m", "'left_finger' reaches 0.06 m"} <= {
        f"'{joint}' reaches {value} {unit}"
        for joint, value, unit in re.findall(r"joint '(\w+)' reaches (\S+) (\w+)", str(caught.value))
    }
    assert "'spin' reaches" not in str(caught.value)
