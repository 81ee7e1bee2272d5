"""Behaviour of the command line, beside a daemon where it asks one."""

from __future__ import annotations

import os
import shlex
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pytest
import yaml

from motiond.daemon.broker import BrokerError
from motiond.daemon.ipc.stream_forks import StreamForks
from motiond.formats import load_motion
from motiond.text import echoed
from tests.daemon.cli.program import Daemon, daemon_of, motiond
from tests.daemon.programs import run_here
from tests.daemon.rig import Rig, sweep, write_seq

if TYPE_CHECKING:
    from numpy.typing import NDArray

pytestmark = pytest.mark.slow

CONFIG, FILES = Path(__file__).parents[3] / "config", Path(__file__).parents[2] / "files"


async def test_play_gives_a_script_the_whole_result(daemon: Daemon) -> None:
    code, out, _ = await daemon.cli("play", "arm", "short", "--speed", "0.5", "--json")
    result = orjson.loads(out)
    assert (code, result["motion"], result["code"], result["played_s"]) == (0, "short", "SUCCESSFUL", 1.0)


async def test_a_second_play_is_refused_unless_it_replaces_the_first(daemon: Daemon) -> None:
    code, out, _ = await daemon.cli("play", "arm", "long", "--no-wait")
    assert (code, out.startswith("arm: accepted long; goal ")) == (0, True)
    busy = "arm: busy with long; one motion plays at a time; stop it first, replace it, or queue behind it\n"
    assert await daemon.cli("play", "arm", "short") == (1, "", busy)
    assert (await daemon.cli("play", "arm", "short", "--replace"))[0] == 0


async def test_where_no_actuator_is_reached_nothing_is_said_to_have_been_done(rig: Rig) -> None:
    rig.driver["trace"] = "missing/trace.npy"
    async with daemon_of(rig, state="offline") as daemon:
        code, out, err = await daemon.cli("disable", "arm")
        cannot = "arm: torque cannot be switched off; the robot is offline and its actuators may hold; "
        assert (code, out, err.startswith(cannot)) == (1, "", True)
        for verb, does in (
            ("stop", "nothing plays"),
            ("estop", "offline; the emergency stop is latched"),
        ):
            code, out, err = await daemon.cli(verb, "arm")
            assert (code, out) == (1, "")
            assert err.startswith(f"arm: {does}; it is offline (")
            assert err.endswith("), and no actuator was reached; use the robot's own switch\n")
            code, out, _ = await daemon.cli(verb, "arm", "--json")
            assert (code, orjson.loads(out)["reached"]) == (1, False)
        code, out, err = await daemon.cli("reset", "arm")
        assert (code, out) == (1, "")
        assert err.startswith("arm: offline after the reset; ")
        assert "missing/trace.npy" in err
        assert err.endswith("; it is tried again by itself\n")


async def test_history_shows_how_motions_have_ended(daemon: Daemon) -> None:
    assert await daemon.cli("history", "arm") == (0, "arm: no motion has ended yet\n", "")
    for arguments in (("goto", "arm", "elbow=0.1", "--wait"), ("play", "arm", "short")):
        assert (await daemon.cli(*arguments))[0] == 0
    code, out, err = await daemon.cli("history", "arm")
    head, _, *rows = out.strip().splitlines()
    titles = ["when", "motion", "code", "by", "whom", "worst", "error", "why"]
    assert (code, head.split(), err) == (0, titles, "")
    assert [row.split()[2:4] for row in rows if "SUCCESSFUL" in row] == [
        ["short", "SUCCESSFUL"],
        ["goto", "SUCCESSFUL"],
    ]
    code, out, err = await daemon.cli("history", "arm", "-n", "1", "--json")
    answer = orjson.loads(out)
    assert (code, [one["motion"] for one in answer["results"]], answer["more"]) == (0, ["short"], True)
    assert answer["results"][0]["asked_by"].startswith("user ")


async def test_history_folds_what_one_person_has_followed_in_a_row(daemon: Daemon) -> None:
    for times in (1, 3):
        for _ in range(times):
            await daemon.ask("follow/start", timeout_s=10.0)
            await daemon.ask("follow/stop")
            await daemon.until("idle")
        assert (await daemon.cli("goto", "arm", "elbow=0.1", "--wait"))[0] == 0
    out = (await daemon.cli("history", "arm"))[1]
    motions = [row.partition(" SUCCESSFUL")[0].split()[2:] for row in out.splitlines() if "SUCC" in row]
    assert motions == [["goto"], ["follow,", "3", "times"], ["goto"], ["follow"]]


async def test_status_shows_every_robot_with_its_motions(daemon: Daemon) -> None:
    code, out, _ = await motiond("status", "--broker", daemon.broker)
    assert (code, out.split()[-4:]) == (0, ["arm", "idle", "long,", "short"])
    code, out, err = await daemon.cli("status", "--json")
    assert err == ""
    (row,) = orjson.loads(out)
    assert (code, row["robot"], row["state"], row["motions"]) == (0, "arm", "idle", ["long", "short"])


async def test_status_shows_a_robot_that_follows_targets(daemon: Daemon) -> None:
    await daemon.ask("follow/start", timeout_s=10.0)
    code, out, err = await daemon.cli("status")
    assert (code, out.strip().splitlines()[-1].split()[:3], err) == (0, ["arm", "following", "follow"], "")
    code, out, _ = await daemon.cli("stop", "arm")
    assert (code, out) == (0, "arm: stops softly\n")


async def test_names_of_any_length_are_told_whole(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    long, longer = "a_long_name_" * 20, "b_long_name_" * 20
    playing = {"state": "playing", "motion": long, "time": 1.0, "duration": 2.0, "message": ""}
    row = {"robot": "arm", **playing, "motions": [long, longer], "more_motions": 3}
    answer = {"queue": [{"motion": long}, {"motion": longer}]}

    async def told(*_: object) -> list[dict[str, Any]]:
        return [row]

    monkeypatch.setattr("motiond.daemon.cli.requests.robots._overview", told)
    monkeypatch.setattr("motiond.daemon.cli.requests.robots.ask", lambda *_: answer)
    code, out, err = await daemon.cli("status")
    assert (code, err) == (0, "")
    assert {f"{long},", longer} <= set(out.split())
    said = f"arm: {long}, {longer}\n"
    assert await daemon.cli("queue", "arm") == (0, said, "")


async def test_the_environment_may_name_the_configuration(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOTIOND_CONFIG", str(daemon.config))
    assert await motiond("stop", "arm") == (0, "arm: nothing plays\n", "")


@pytest.fixture
def no_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the machine's configuration would be; the current folder is another."""
    monkeypatch.delenv("MOTIOND_CONFIG", raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    config = tmp_path / "etc" / "motiond.yaml"
    monkeypatch.setattr("motiond.daemon.cli.output.DEFAULT_CONFIG", config)
    return config


@pytest.mark.parametrize("line", ["run", "check", "play six_axis nod --dry-run"])
def test_a_configuration_in_the_current_folder_is_pointed_out_and_not_taken(
    no_config: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    missing = f"{no_config}: cannot be read; no such file; "
    hint = "write one by `motiond init`, or name yours with -c\n"
    assert run_here(capsys, *line.split()) == (2, "", missing + hint)
    Path("motiond.yaml").write_text("here: 1")
    hint = "for the one here, add `-c motiond.yaml`\n"
    assert run_here(capsys, *line.split()) == (2, "", missing + hint)


@pytest.mark.parametrize("line", ["check", "play six_axis nod --dry-run"])
def test_a_configuration_in_the_current_folder_is_not_mistaken_for_the_machines(
    no_config: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    Path("motiond.yaml").write_text("here: 1")
    no_config.parent.mkdir()
    no_config.write_text("")
    code, _, err = run_here(capsys, *line.split())
    assert (code, err.splitlines()) == (
        2,
        [
            f"warning: motiond.yaml: is not read, but {no_config}; for the one here, add `-c motiond.yaml`",
            f"{no_config}:1: 'robots' is missing; the file needs it; add it",
        ],
    )
    code, _, err = run_here(capsys, *line.split(), "-c", "motiond.yaml")
    assert (code, err.splitlines()[0].partition(";")[0]) == (2, "motiond.yaml:1: 'robots' is missing")
    Path("motiond.yaml").unlink()
    Path("motiond.yaml").symlink_to(no_config)
    assert run_here(capsys, *line.split())[2].startswith(f"{no_config}:1: ")


async def test_a_robot_that_nobody_knows_does_not_answer(daemon: Daemon) -> None:
    said = "amr: no answer in 5 s; the robots here are arm; did you mean 'arm'?\n"
    assert await daemon.cli("stop", "amr") == (3, "", said)


NO_UTF_8 = os.fsdecode(b"long\xff")
NO_MOTION = "'long\\xff'; there are long, short; did you mean 'long'?"
NO_MARKER = "'long\\xff'; there are no markers at all"
NO_TOPIC = (
    "'long\\xff' cannot be a part of a topic; letters, digits, _ and - can; rename it; see `motiond --help`"
)
NO_BASE = (
    "'long\\xff' cannot begin a topic on every broker; letters, digits, _ and - can, with / between; "
    "rename it; see `motiond --help`"
)
NO_BROKER = (
    "'long\\xff' is no broker; it must be embedded, mqtt://…, mqtts://…, ws://… or wss://…; correct it; "
    "see `motiond --help`"
)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("play", "arm", NO_UTF_8), 1, f"arm: no motion {NO_MOTION}"),
        (("play", "arm", "long", "--first", NO_UTF_8), 1, f"long: no marker {NO_MARKER}"),
        (("goto", "arm", NO_UTF_8), 1, "arm: no pose 'long\\xff'; there are no poses at all"),
        (
            ("goto", "arm", f"{NO_UTF_8}=0"),
            1,
            "goto: the robot has no joint 'long\\xff'; it has shoulder, elbow",
        ),
        (("stop", NO_UTF_8), 2, f"motiond: invalid value for 'robot': {NO_TOPIC}"),
        (("fleet", "play", NO_UTF_8, "long"), 2, f"motiond: invalid value for 'group': {NO_TOPIC}"),
        (("status", "--base", NO_UTF_8), 2, f"motiond: invalid value for --base: {NO_BASE}"),
        (("status", "--broker", NO_UTF_8), 2, f"motiond: invalid value for --broker: {NO_BROKER}"),
    ],
)
async def test_a_name_that_is_no_utf_8_is_asked_for_as_robots_list_it(
    daemon: Daemon, arguments: tuple[str, ...], code: int, message: str
) -> None:
    assert await daemon.cli(*arguments) == (code, "", message + "\n")


def test_without_a_broker_nobody_answers(capsys: pytest.CaptureFixture[str]) -> None:
    address = "mqtt://127.0.0.1:1884"
    code, out, err = run_here(capsys, "status", "--broker", address)
    assert (code, out) == (3, "")
    assert err == (
        f"{address}: no connection to the broker; nobody listens there; "
        "start the daemon or the broker, or correct the URL\n"
    )


async def test_a_daemon_without_its_port_says_so(daemon: Daemon, tmp_path: Path) -> None:
    config = tmp_path / "second.yaml"
    config.write_text(daemon.config.read_text().replace("motions:\n    - motions", "motions: []"))
    reason = "cannot listen; address already in use; stop the other broker or set mqtt.listen"
    with pytest.raises(BrokerError) as refused:
        await Daemon(config).end()
    assert (str(refused.value), refused.value.exit_code) == (f"127.0.0.1:1883: {reason}", 1)


UNLIMITED = "nothing keeps a motion from asking too much there; set `joints.NAME.limits`"
ANYWHERE = f"no position limit for any joint, and no acceleration limit for any joint; {UNLIMITED}"


def ramp(height: float, rows: int) -> NDArray[np.float64]:
    return np.linspace(0.0, height, rows)[:, None]


def test_check_lists_what_each_robot_can_play(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run_here(capsys, "check", "-c", CONFIG / "demo.yaml", "nod", "wave")
    assert (code, err) == (0, "")
    assert out == "arm: nod: ok; 4 s, speed up to 2.94\narm: wave: ok; 6.4 s, speed up to 2.61\n"


EFFORTS = """\
arm: nod: ok; 4 s, speed up to 2.94
arm: nod: effort of base: peak 0.01103 N·m of 23 at 0.21 s, RMS 0.007704 N·m
"""


def test_check_shows_what_each_motion_takes_of_actuators(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "motiond.yaml"
    demo = (CONFIG / "demo.yaml").read_text()
    for name in ("robots/", "motions/"):
        (tmp_path / name).symlink_to(CONFIG / name)
    file.write_text(demo.replace("driver: {type: sim}", "driver: {type: sim}\n    effort: {}"))
    code, out, _ = run_here(capsys, "check", "-c", file, "nod")
    assert (code, out[: len(EFFORTS)]) == (0, EFFORTS)
    assert len(out.splitlines()) == 7
    code, out, _ = run_here(capsys, "check", "-c", file, "nod", "--json")
    (finding,) = orjson.loads(out)
    assert finding["physics"]["effort"]["joints"][0]["joint"] == "base"
    file.write_text(
        file.read_text().replace("effort: {}", "effort: {}\n    payload: {frame: tool, mass: 9.0}")
    )
    code, out, _ = run_here(capsys, "check", "-c", file, "nod")
    assert code == 1
    assert "arm: nod: joint 'elbow' needs " in out
    assert run_here(capsys, "play", "arm", "nod", "--dry-run", "-c", file)[0] == 1


def test_check_fails_on_a_motion_beyond_the_limits(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rig = Rig(tmp_path)
    write_seq(tmp_path / "motions" / "fast.seq", ramp(4.0, rows=1025), ("elbow",), 1024)
    code, out, _ = run_here(capsys, "check", "-c", rig.config, "fast", "shrot")
    assert code == 1
    beyond = (
        "arm: fast: joint 'elbow' reaches 4 rad at 1.000 s (frame 1024, the worst of 512); "
        "its upper limit is 2 rad; lower the motion or raise `joints.elbow.limits.upper`"
    )
    too_fast = (
        "arm: fast: joint 'elbow' moves at 4 rad/s at 0.001 s (frame 1, the worst of 1024); "
        "its velocity limit is 3 rad/s; let `on_violation: slow` slow it to 0.584 of its speed "
        "or raise `joints.elbow.limits.velocity`"
    )
    unknown = "arm: no motion 'shrot'; there are long, short (fast cannot be played); did you mean 'short'?"
    unlimited = f"arm: warning: no acceleration limit for any joint; {UNLIMITED}"
    assert out.splitlines() == [beyond, too_fast, unlimited, unknown]
    code, out, _ = run_here(capsys, "check", "-c", rig.config, "fast", "--json")
    (finding,) = orjson.loads(out)
    assert (code, finding["robot"], finding["motion"], finding["ok"]) == (1, "arm", "fast", False)
    assert len(finding["problems"]) == 2


def test_check_reports_where_recordings_go_if_nothing_can_be_written_there(
    rig: Rig, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    (rig.folder / "disk").touch()
    rig.robot["recording"] = {"folder": "disk/recordings"}
    code, out, err = run_here(capsys, "check", "-c", rig.config)
    assert code == 0
    where = f"recordings go to {rig.folder}/disk/recordings; it cannot be written: not a directory"
    hint = "let motiond write there, or set `recording.folder`"
    assert f"arm: warning: {where}; {hint}" in [*out.splitlines(), *err.splitlines(), *caplog.messages]
    rig.robot["recording"] = {"folder": "recordings"}
    code, out, err = run_here(capsys, "check", "-c", rig.config)
    assert "recordings" not in out + err


def test_check_tells_of_a_mesh_that_is_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cut.stl").write_bytes(b"solid cut\nfacet normal 0 0 1\nouter loop\nvertex 0 0")
    visual = "<visual name='v'><geometry><mesh><uri>cut.stl</uri></mesh></geometry></visual>"
    (tmp_path / "arm.sdf").write_text(
        f"<sdf version='1.9'><model name='arm'><link name='base'>{visual}</link><link name='tip'/>"
        "<joint name='elbow' type='revolute'><parent>base</parent><child>tip</child>"
        "<axis><xyz>0 0 1</xyz></axis></joint></model></sdf>"
    )
    motion = tmp_path / "short.seq"
    write_seq(motion, sweep(0.5, joints=1), ("elbow",), 200)
    config = tmp_path / "motiond.yaml"
    robot = {"model": "arm.sdf", "driver": {"type": "sim"}, "motions": ["short.seq"]}
    config.write_text(yaml.safe_dump({"robots": {"arm": robot}}))
    reason = "its file is damaged, holds no triangles or is not STL; export it again"
    for words in (("-c", config), ("--robot", tmp_path / "arm.sdf", motion)):
        caplog.clear()
        assert run_here(capsys, "check", *words)[0] == 0
        assert caplog.messages == [f"{tmp_path}: mesh 'cut.stl' cannot be drawn; {reason}"]


def test_check_says_where_there_is_nothing_to_check(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rig = Rig(tmp_path)
    (tmp_path / "none").mkdir()
    del rig.driver["plant"]
    uploads = {"folder": "none", "upload": True}
    rig.others = {"hand": {**rig.robot, "motions": [uploads]}, "leg": {**rig.robot, "motions": []}}
    code, out, err = run_here(capsys, "check", "-c", rig.config)
    assert (code, len(out.splitlines())) == (0, 4)  # two motions, and a warning of each kind
    assert err.splitlines() == [
        (
            f"hand: nothing to check; there are no motion files in {echoed(f'{tmp_path}/none')}; "
            "put some there, or correct `motions`"
        ),
        "leg: nothing to check; it has no motions; name files or folders of them under `motions`",
    ]


def test_a_folder_without_motion_files_cannot_be_checked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said = (
        f"six_axis: {tmp_path}: nothing to check; it is a folder without motion files; name files\n"
        f"six_axis: warning: {ANYWHERE}\n"
    )
    arm = CONFIG / "robots" / "six_axis.hrdf"
    assert run_here(capsys, "check", "--robot", arm, tmp_path) == (1, said, "")


def test_check_lists_motions_that_no_actuator_could_follow_and_prints_nothing_else(
    capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder, tmp_path: Path
) -> None:
    limits = {"lower": -2, "upper": 2, "velocity": 3, "acceleration": 20}
    robot = {
        "joints": {"elbow": {"limits": limits}},
        "driver": {"type": "sim", "command_lifetime_s": 0.25},
        "motions": ["."],
    }
    (tmp_path / "arm.yaml").write_text(yaml.safe_dump({"robots": {"arm": robot}}))
    write_seq(tmp_path / "far.seq", np.array([[0.0], [1e308], [-1e308], [1e308]]), ("elbow",), 100)
    write_seq(tmp_path / "slow.seq", ramp(1.0, rows=11), ("elbow",), 10)
    code, out, err = run_here(capfd, "check", "-c", tmp_path / "arm.yaml")
    assert (code, err, recwarn.list) == (1, "", [])
    assert out.splitlines() == [
        (
            "arm: far: frame 1 has 1e+308 for joint 'elbow'; beyond 1e+06 rad or m a number is a mistake; "
            "correct the file"
        ),
        (
            "arm: slow: 10 frames/s are too few; the actuators release between setpoints that come at less "
            "than 12 Hz; `motiond convert --rate 12`, or raise `command_lifetime_s`"
        ),
    ]


@pytest.mark.parametrize("verb", ["check", "run"])
def test_two_robots_on_one_simulated_plant_are_refused_by_check_and_by_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, verb: str
) -> None:
    monkeypatch.setattr(StreamForks, "start", lambda _: socket.socketpair()[0])
    rig = Rig(tmp_path)
    config = yaml.safe_load(rig.config.read_text())
    config["robots"]["leg"] = config["robots"]["arm"]
    file = tmp_path / "two.yaml"
    file.write_text(yaml.safe_dump(config))
    refused = (
        f"robots arm and leg: both drive plant:{tmp_path}/plant.bin; "
        "one device has one master; leave it to one of them\n"
    )
    code, out, err = run_here(capsys, verb, "-c", file)
    assert (code, out, err.endswith(refused)) == (2, "", True)


def test_a_motion_is_checked_against_a_description_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write_seq(tmp_path / "dash.seq", ramp(1.0, rows=2), ("wrist1",), 16)
    files = (tmp_path / "dash.seq", CONFIG / "motions" / "nod.seq", "none.seq")
    code, out, err = run_here(capsys, "check", "--robot", CONFIG / "robots" / "six_axis.hrdf", *files)
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        (
            "six_axis: dash: joint 'wrist1' moves at 16 rad/s at 0.062 s (frame 1); its velocity limit is "
            "9.42 rad/s; let `on_violation: slow` slow it to 0.512 of its speed or raise the model's limit"
        ),
        f"six_axis: warning: {ANYWHERE}",
        "six_axis: nod: ok; 4 s, speed up to 10",
        "six_axis: none.seq: cannot be read; no such file; check the path",
    ]


def test_files_that_hold_motions_of_one_name_are_told_apart(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    files = [tmp_path / folder / "dash.seq" for folder in ("a", "b", "c")]
    for file, rate_hz in zip(files, (2, 4, 16), strict=True):
        file.parent.mkdir()
        write_seq(file, ramp(1.0, rows=2), ("wrist1",), rate_hz)
    code, out, _ = run_here(capsys, "check", "--robot", CONFIG / "robots" / "six_axis.hrdf", *files)
    assert code == 1
    assert [line for line in out.splitlines() if ": warning: " not in line] == [
        f"six_axis: dash ({files[0]}): ok; 0.5 s, speed up to 4.71",
        f"six_axis: dash ({files[1]}): ok; 0.25 s, speed up to 2.35",
        (
            f"six_axis: dash ({files[2]}): joint 'wrist1' moves at 16 rad/s at 0.062 s (frame 1); "
            "its velocity limit is 9.42 rad/s; "
            "let `on_violation: slow` slow it to 0.512 of its speed or raise the model's limit"
        ),
    ]
    for file, rate_hz in zip(files[:2], (2, 4), strict=True):
        assert f"six_axis: warning: dash ({file}): {rate_hz} frames/s are few; each is a setpoint," in out


@pytest.mark.parametrize("upper", ["1.05", "<!-- 60 deg -->1.05", "1.05<?unit rad?>", "<![CDATA[1.05]]>"])
def test_a_limit_is_checked_however_xml_writes_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, upper: str
) -> None:
    limit = f"<limit><lower>-1</lower><upper>{upper}</upper></limit>"
    joint = f"<parent>world</parent><child>a</child><axis><xyz>0 0 1</xyz>{limit}</axis>"
    arm = tmp_path / "arm.sdf"
    arm.write_text(
        f'<sdf version="1.9"><model name="arm"><link name="a"/>'
        f'<joint name="elbow" type="revolute">{joint}</joint></model></sdf>'
    )
    write_seq(tmp_path / "far.seq", ramp(2.4, rows=101), ("elbow",), 100)
    code, out, _ = run_here(capsys, "check", "--robot", arm, tmp_path / "far.seq")
    assert code == 1
    assert out.splitlines()[0] == (
        "arm: far: joint 'elbow' reaches 2.4 rad at 1.000 s (frame 100, the worst of 57); "
        "its upper limit is 1.05 rad; lower the motion or raise the model's limit"
    )


def test_a_script_gets_every_violation_in_numbers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_seq(tmp_path / "dash.seq", ramp(1.0, rows=2), ("wrist1",), 16)
    arm = CONFIG / "robots" / "six_axis.hrdf"
    code, out, _ = run_here(capsys, "check", "--json", "--robot", arm, tmp_path / "dash.seq")
    (finding,) = orjson.loads(out)
    (violation,) = finding.pop("violations")
    assert code == 1
    assert violation.pop("limit") == pytest.approx(9.42478, abs=1e-5)
    assert violation.pop("speed_factor") == 0.512
    assert violation == {
        "joint": "wrist1", "kind": "velocity", "time_s": 0.0625, "frame": 1, "count": 1, "value": 16.0,
        "unit": "rad/s", "limit_is_configured": False, "between": False,
        "limited_by": "", "end_speed": None, "slowed_by": "on_violation", "is_still": False,
    }  # fmt: skip
    assert len(finding.pop("problems")) == 1
    assert finding == {
        "robot": "six_axis", "motion": "dash", "file": str(tmp_path / "dash.seq"), "duration_s": 0.0625,
        "max_speed": None, "warnings": [ANYWHERE], "physics": {}, "kind": "motion", "ok": False,
    }  # fmt: skip


def test_a_motion_without_names_is_checked_with_those_given(capsys: pytest.CaptureFixture[str]) -> None:
    arm, nameless = CONFIG / "robots" / "six_axis.hrdf", FILES / "good" / "two_feet.seq"
    slow = ("check", "--robot", arm, nameless, "--motion-joints")
    assert run_here(capsys, *slow, "wrist1")[1].startswith("six_axis: two_feet: joint 'wrist1' moves at 25 ")
    said = "six_axis: two_feet: 1 columns without names; motion_joints lists 2 joints; list 1\n"
    said += f"six_axis: warning: {ANYWHERE}\n"
    assert run_here(capsys, *slow, "wrist1,wrist1") == (1, said, "")


def test_files_are_read_by_the_map_that_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arm = CONFIG / "robots" / "six_axis.hrdf"
    write_seq(
        Path("wave.seq"), 15.0 - 5.0 * np.cos(np.linspace(0.0, np.pi, 101)).reshape(-1, 1), ("J4",), 100
    )
    Path("arm.map.yaml").write_text("joints: {wrist1: {from: J4, sign: -1, unit: deg}}\n")
    by_map = ("--map", "arm.map.yaml")
    ok = "six_axis: wave: ok; 1 s, speed up to 10\n"
    assert run_here(capsys, "check", "--robot", arm, "wave.seq", *by_map)[:2] == (
        0,
        f"{ok}six_axis: warning: {ANYWHERE}\n",
    )
    assert run_here(capsys, "convert", "wave.seq", "mapped.seq", *by_map)[0] == 0
    written = load_motion("mapped.seq")
    assert (written.joint_names, written.positions[-1, 0]) == (("wrist1",), -20 * np.pi / 180)
    assert run_here(capsys, "plot", "wave.seq", "--joints", "wrist1", *by_map)[0] == 0
    refused = (
        "mapped.seq: mapped: there is no column 'J4' for joint 'wrist1' (arm.map.yaml:1); it has wrist1; "
        "if these are the robot's joints, it needs no map; else write `J4: wrist1`\n"
    )
    assert run_here(capsys, "inspect", "mapped.seq", *by_map) == (1, "", refused)
    missing = "arm.yaml: cannot be read; no such file; did you mean 'arm.map.yaml'?\n"
    assert run_here(capsys, "inspect", "wave.seq", "--map", "arm.yaml") == (2, "", missing)


def test_a_robot_with_a_joint_of_several_coordinates_cannot_be_checked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    workshop = FILES / "good" / "workshop.skel"
    code, out, err = run_here(capsys, "check", "--robot", workshop, "--name", "arm", "nod.seq")
    assert (code, out) == (2, "")
    assert err.splitlines()[0] == (
        "arm: joint 'wrist' (universal) has 2 coordinates; motiond moves joints with one; "
        "leave it out of the model"
    )


CALL = "see `motiond --help`"
TOPIC = "letters, digits, _ and - can"
SEEN = (
    "its password is seen by every user of this machine, as in `ps`; "
    "set $MOTIOND_BROKER, or name a configuration with password_file"
)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "check --units deg",
            (
                "invalid value for --units: it has no effect without --robot; "
                "a robot's `motion_map` in the configuration says it"
            ),
        ),
        (
            "inspect --file-rate 0 a",
            "invalid value for --file-rate: rate is 0 rows/s; it is above 0 and at most 100000; correct it",
        ),
        (
            "inspect --units grad a",
            "invalid value for '--units': 'grad' is not one of 'rad', 'deg', 'm', 'cm', 'mm', 'SI'",
        ),
        ("check --name arm", "invalid value for --name: it has no effect without --robot; remove it"),
        ("check --robot a.hrdf", "invalid value for --robot: it needs motion files; name some"),
        ("play arm", "missing argument 'motion'"),
        ("plya", "no such command 'plya'. Did you mean 'play'?"),
        ("stop arm --broker ''", "invalid value for --broker: String should have at least 1 character"),
        (
            "status +",
            f"invalid value for 'robot': '+' cannot be a part of a topic; {TOPIC}; rename it",
        ),
        *(
            (
                f"goto arm elbow={position}",
                (
                    f"invalid value: 'elbow={position}' is neither a pose nor joints; "
                    "write one name, or JOINT=POSITION for each"
                ),
            )
            for position in ("nan", "")
        ),
        (
            "goto arm elbow=0.5 elbow=0.7",
            "invalid value: joint 'elbow' stands twice; it has one position; leave one out",
        ),
        (
            "play arm wave --loop 0",
            (
                "invalid value for '--loop': '0' is no count from 1 to 1000000000; "
                "write --loop 3, or --loop forever"
            ),
        ),
        *(
            (
                f"{command} {number}",
                f"invalid value for {parameter}: '{number}' is no number from {bounds}; write one",
            )
            for command, number, parameter, bounds in (
                ("play arm wave --speed", "x", "'--speed'", "0.1 to 10"),
                ("fleet play choir wave --speed", "20", "'--speed'", "0.1 to 10"),
                ("speed arm", "0", "'factor'", "0.1 to 10"),
                ("fleet play choir wave --in", "nan", "'--in'", "0 to 86400"),
            )
        ),
        (
            "inspect a.seq --jobs x",
            (
                "invalid value for '--jobs' / '-j': "
                "Input should be a valid integer, unable to parse string as an integer"
            ),
        ),
        *(
            (
                f"seek arm {number * 400}{unit}",
                f"invalid value: '{echoed(number * 400)}' is no number from 0 to 1e+15; write one",
            )
            for number, unit in (("9", ""), ("8", "s"))
        ),
        (
            "play arm wave --start-at inf",
            "invalid value for '--start-at': 'inf' is no time; write Unix time in s, as `date +%s` prints it",
        ),
        (
            f"stop arm --broker mqtt://localhost --ca-file {__file__}",
            (
                "invalid value for --ca-file: 'ca_file' has no effect; mqtt:// does not encrypt; "
                "mqtts:// does; remove it"
            ),
        ),
        ("stop arm --broker mqtt://arm:secret@localhost", f"invalid value for --broker: {SEEN}"),
        ("stop arm --ca-file none.pem", "invalid value for '--ca-file': file 'none.pem' does not exist"),
        (
            "play arm wave --dry-run --base lab",
            "invalid value: --base is for a daemon; a dry run asks none; leave one of them out",
        ),
    ],
)
def test_a_wrong_command_line_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    assert run_here(capsys, *shlex.split(line)) == (2, "", f"motiond: {message}; {CALL}\n")


def test_a_configuration_that_is_not_there_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StreamForks, "start", lambda _: socket.socketpair()[0])
    said = "none.yaml: cannot be read; no such file; check the path\n"
    assert run_here(capsys, "run", "-c", "none.yaml") == (2, "", said)
