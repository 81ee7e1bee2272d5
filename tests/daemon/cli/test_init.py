"""`motiond init`: what is found and asked, what is written, and that nothing is written by halves."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
import typer
import yaml

from motiond.daemon.cli.init import actuators, questions
from motiond.daemon.cli.init.actuators import usb_ports
from motiond.daemon.cli.init.questions import Questions, look_into
from motiond.daemon.config.settings import load_settings
from motiond.daemon.tools.example import example_config, lay_down
from motiond.drivers.base import DriverConfigError, DriverError
from motiond.drivers.serial_bus import Scanned
from tests.daemon.programs import run_here
from tests.daemon.rig import sweep, write_seq

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CONFIG = Path(__file__).parents[3] / "config"
ARM = ("base", "shoulder", "elbow", "wrist1", "wrist2", "wrist3")
CLOSED = ("--broker", "embedded", "--http", "none")
"""Answers that depend on nothing of the machine."""

UNLIMITED = "nothing keeps a motion from asking too much there; set `joints.NAME.limits`"
REFUSED_LOGIN = (
    "a password does not belong here; everybody who reads the configuration would see it; "
    "add username and password_file to it later"
)
THERE = (
    "exists already; it would be replaced; "
    "name another folder, or --force it; docs/init.md says how to add a robot"
)
PICKER = CONFIG.parent / "tests" / "files" / "good" / "urdf" / "picker.urdf"
MODEL = CONFIG / "robots" / "six_axis.hrdf"

WRITTEN = """\
robots:
  arm:
    driver:
      type: dynamixel
      ports:
      - port: /dev/ttyUSB0
        baud_rate: 57600
        ids: {shoulder: 3, elbow: 1}
      models: {shoulder: XL430-W250, elbow: XL430-W250}
    motions: [motions]
    approach: {velocity: 0.5, acceleration: 1.0}
    joints:
      shoulder:
        limits: {lower: -1.5, upper: 1.5, velocity: 1.0}
      elbow:
        limits: {lower: -1.5, upper: 1.5, velocity: 1.0}
"""


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep from the tests what the machine has: its serial ports, its network, a broker."""
    ports(monkeypatch)
    modules(monkeypatch)
    monkeypatch.setattr(actuators, "sleep", lambda _: None)
    monkeypatch.setattr(actuators, "BY_ID", Path("/nowhere"))
    monkeypatch.setattr(questions, "LOCAL_BROKER", ("127.0.0.1", 1))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the example's description and motions."""
    for file in lay_down("demo", tmp_path, forced=False):
        if file.parent == tmp_path:
            file.unlink()
    return tmp_path


def ports(monkeypatch: pytest.MonkeyPatch, *there: tuple[str, int | None], product: int = 1) -> None:
    """Have serial ports at this machine, with the USB vendors of their adapters."""
    found = [SimpleNamespace(device=device, vid=vendor, pid=product) for device, vendor in there]
    monkeypatch.setattr("serial.tools.list_ports.comports", lambda: found)


def servos(monkeypatch: pytest.MonkeyPatch, *ids: int, model: str = "XL430-W250") -> str:
    """Have servos answer at each port, and return one."""

    def scan(of: str, at_first: int) -> Callable[[str, Sequence[int]], list[Scanned]]:
        there = ids if (model in FEETECH) == (of == "feetech") else ()

        def found(_: str, baud_rates: Sequence[int]) -> list[Scanned]:
            (rate,) = baud_rates or (at_first,)
            return [Scanned(rate, number, model, "3.10") for number in there]

        return found

    monkeypatch.setattr("motiond.drivers.dynamixel.scan", scan("dynamixel", 57_600))
    monkeypatch.setattr("motiond.drivers.feetech.scan", scan("feetech", 1_000_000))
    return "/dev/ttyUSB0"


def answer(monkeypatch: pytest.MonkeyPatch, *answers: str, then: type[BaseException] = EOFError) -> list[str]:
    """Type answers, and then what ends them; return the questions as they are asked."""
    asked: list[str] = []
    prompt, confirm = typer.prompt, typer.confirm

    def noted(question: str, **options: Any) -> Any:
        asked.append(question)
        return prompt(question, **options)

    def confirmed(question: str, **options: Any) -> bool:
        asked.append(question)
        return confirm(question, **options)

    def read(_: str) -> str:
        if not left:
            raise then
        return left.pop(0)

    left = [*answers]
    monkeypatch.setattr(typer, "prompt", noted)
    monkeypatch.setattr(typer, "confirm", confirmed)
    monkeypatch.setattr("typer._click.termui.visible_prompt_func", read)
    return asked


def modules(monkeypatch: pytest.MonkeyPatch, *names: str, family: str = "Arm") -> None:
    entries = [SimpleNamespace(family=family, name=name, is_stale=False) for name in names]
    monkeypatch.setattr(actuators, "open_lookup", lambda _: SimpleNamespace(entrylist=entries))


def of_this_test(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name not in {"robots", "motions"})


# -- what is written ----------------------------------------------------------------------------------------


def test_the_file_has_what_was_found_and_chosen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path.parent / "motiond"
    monkeypatch.setattr("sys.argv", [str(program)])
    (tmp_path / "motions").mkdir()
    write_seq(tmp_path / "motions" / "nod.seq", sweep(2.0, 40), ("shoulder", "elbow"), 40)
    port = servos(monkeypatch, 1, 3)
    code, out, err = run_here(
        capsys, "init", tmp_path, "--yes", "--robot", "arm", "--port", port,
        "--actuator", "shoulder=3", "--actuator", "elbow=1",
        "--broker", "mqtt://broker.local", "--http", "127.0.0.1:8081",
    )  # fmt: skip
    file = tmp_path / "motiond.yaml"
    schema = example_config().with_name("schema.json")
    assert (code, err) == (0, "")
    text = file.read_text()
    assert text.startswith(f"# yaml-language-server: $schema={schema}\n# A configuration of motiond, as")
    assert "\nmqtt:\n  broker: mqtt://broker.local\n" in text
    assert "\nhttp:\n  listen: 127.0.0.1:8081\n" in text
    assert WRITTEN in text
    assert "\n    # lease: {required: true} " in text
    assert out.splitlines() == [
        f"no robot description is in {tmp_path}; joints are listed instead",
        f"looking for servos on {port}",
        "found servos: 1, 3",
        f"{file}: written; the check of it follows",
        "arm: nod: ok; 2 s, speed up to 1.59",
        f"arm: warning: no acceleration limit for any joint; {UNLIMITED}",
        f"next: {program} run -c {file}",
    ]
    assert of_this_test(tmp_path) == ["motiond.yaml"]


def test_without_hardware_simulated_actuators_are_offered(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run_here(capsys, "init", folder, "--yes", *CLOSED)
    settings = load_settings(folder / "motiond.yaml")
    robot = settings.robots["six_axis"]
    assert (code, err) == (0, "")
    assert "no actuators that fit were found; simulated ones are offered\n" in out
    assert (robot.driver.type, robot.motion_places) == ("sim", [folder / "motions"])
    assert (robot.model and robot.model.file, settings.http) == (folder / "robots" / "six_axis.hrdf", None)


@pytest.mark.parametrize("options", [(), ("--actuator", "elbow=elbow", "--actuator", "base=base")])
def test_modules_that_are_called_as_the_joints_need_no_question_and_stand_in_the_joints_order(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
) -> None:
    modules(monkeypatch, *reversed(ARM), "gripper", family="Bench")
    code, out, err = run_here(capsys, "init", folder, "--yes", *options, *CLOSED)
    assert (code, err) == (0, "")
    assert "found HEBI modules: base, elbow, gripper, shoulder, wrist1, wrist2, wrist3\n" in out
    driver = load_settings(folder / "motiond.yaml").robots["six_axis"].driver
    assert (driver.type, driver.options) == ("hebi", {"families": ["Bench"] * 6, "names": [*ARM]})


CFG = f"""\
version: 1.0
families: Bench
names: [{", ".join(ARM)}]
hrdf: robots/six_axis.hrdf
user_data: {{home_position: [0, 0.5, 0, 0, 0, 0]}}
"""


@pytest.mark.parametrize(
    ("there", "options"),
    [
        (ARM[1:], {}),
        (ARM, {}),
        (ARM, {"--driver": "sim"}),
        ((), {"--driver": "hebi"}),
        (ARM, {"--model": "arm.cfg.yaml"}),
    ],
)
def test_hebis_own_configuration_comes_before_the_description_that_it_names(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    there: tuple[str, ...],
    options: dict[str, str],
) -> None:
    driver = options.get("--driver", "hebi" if there == ARM else "sim")
    (folder / "arm.cfg.yaml").write_text(CFG)
    modules(monkeypatch, *there, family="Bench")
    monkeypatch.chdir(folder)
    code, _, err = run_here(capsys, "init", "--yes", "--robot", "arm", *sum(options.items(), ()), *CLOSED)
    assert (code, err) == (0, "")
    written = yaml.safe_load((folder / "motiond.yaml").read_text())["robots"]["arm"]
    approach = {"velocity": 0.5, "acceleration": 1.0}
    named = {"type": driver, "config": "arm.cfg.yaml"}
    assert written == {"driver": named, "motions": ["motions"], "approach": approach}
    robot = load_settings(folder / "motiond.yaml").robots["arm"]
    assert robot.model
    assert robot.model.file == folder / "robots" / "six_axis.hrdf"
    assert robot.poses["home"]["shoulder"] == 0.5


def test_hebis_own_configuration_is_a_choice_and_the_description_that_it_names_is_another(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "arm.cfg.yaml").write_text(CFG)
    (folder / "bare.cfg.yaml").write_text("families: Bench\nnames: [base]\n")
    asked = answer(monkeypatch, "robots/six_axis.hrdf")
    run_here(capsys, "init", folder, *CLOSED)
    assert asked[0] == ("the robot's description (arm.cfg.yaml, robots/six_axis.hrdf, none) [arm.cfg.yaml]")


@pytest.mark.parametrize("option", [("--driver", "dynamixel"), ("--actuator", "base=1")])
def test_hebis_own_configuration_leaves_nothing_to_other_actuators(
    folder: Path, capsys: pytest.CaptureFixture[str], option: tuple[str, str]
) -> None:
    (folder / "arm.cfg.yaml").write_text(CFG)
    code, _, err = run_here(capsys, "init", folder, "--yes", *option, *CLOSED)
    problem = "arm.cfg.yaml says what moves each joint; name another description by --model, such as its HRDF"
    assert (code, err) == (2, f"motiond: invalid value for {option[0]}: {problem}; see `motiond --help`\n")
    assert of_this_test(folder) == ["arm.cfg.yaml"]


def test_what_modules_are_called_stays_on_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nasty = ("two\nlines", "x\nrobots: {}\x1b[2J", "no", "a: b # c", "{", "é\u2028")
    modules(monkeypatch, *nasty)
    names = ",".join(f"j{number}" for number in range(len(nasty)))
    asked = answer(monkeypatch, "", "", names, *[""] * 20)
    code, out, err = run_here(capsys, "init", tmp_path, *CLOSED)
    assert (code, err) == (
        0,
        "robot: nothing to check; it has no motions; name files or folders of them under `motions`\n",
    )
    assert not any("\x1b" in shown or "\n" in shown for shown in (*asked, *out.splitlines()))
    driver = load_settings(tmp_path / "motiond.yaml").robots["robot"].driver
    assert driver.options["names"] == sorted(nasty)


# -- questions ----------------------------------------------------------------------------------------------

CONVERSATION = (
    ("the robot's description (robots/six_axis.hrdf, none) [robots/six_axis.hrdf]", ""),
    ("its name, in topics and on the command line [six_axis]", "left"),
    ("look for servos on /dev/u, by pings at common baud rates?", ""),
    ("files and folders of motions [motions]", ""),
    ("the broker: embedded, or mqtt://host[:port] [embedded]", "mqtt://b.local"),
    ("address of its page, or none [127.0.0.1:8080]", "none"),
)


def test_each_question_has_a_default_and_the_answers_are_what_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ports(monkeypatch, ("/dev/u", 0x2341))
    asked = answer(monkeypatch, *(typed for _, typed in CONVERSATION))
    code, _, err = run_here(capsys, "init", folder)
    assert (code, err) == (0, "")
    assert asked == [question for question, _ in CONVERSATION]
    settings = load_settings(folder / "motiond.yaml")
    assert ([*settings.robots], settings.mqtt.broker, settings.http) == (["left"], "mqtt://b.local", None)


@pytest.mark.parametrize("answered", range(len(CONVERSATION)))
def test_an_end_at_any_question_leaves_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, answered: int
) -> None:
    ports(monkeypatch, ("/dev/u", 0x2341))
    typed = [typed for _, typed in CONVERSATION[:answered]]
    hint = "nothing is written; answer, or take all defaults with --yes"
    message = f"motiond: standard input has ended before the answer; {hint}\n"
    for then, code, reported in ((EOFError, 2, message), (KeyboardInterrupt, 130, "")):
        asked = answer(monkeypatch, *typed, then=then)
        ended, _, err = run_here(capsys, "init", folder)
        assert (ended, err, len(asked)) == (code, reported, answered + 1)
        assert of_this_test(folder) == []


def test_an_answer_that_cannot_be_is_asked_for_again(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, "7", "", "my robot", "bridge", "arm", "", "mqtt://u:secret@b", "", "none")
    code, out, err = run_here(capsys, "init", folder)
    assert (code, err) == (0, "")
    assert [line.rpartition("Error: ")[2] for line in out.splitlines() if "Error: " in line] == [
        "'7' is none of them; there are robots/six_axis.hrdf, none; choose one",
        "'my robot' cannot be a part of a topic; letters, digits, _ and - can; rename it",
        "'bridge' cannot be a robot; the daemon's own topics begin with it; rename it",
        REFUSED_LOGIN,
    ]


FEETECH = ("STS3215", "STS3250", "SCS0009")
SIX_SERVOS = "1, 2, 3, 4, 5, 6"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--robot", "a/b"),
         "--robot: 'a/b' cannot be a part of a topic; letters, digits, _ and - can; rename it"),
        (("--driver", "kuka"), "'--driver': 'kuka' is not one of 'sim', 'hebi', 'dynamixel', 'feetech'"),
        (("--broker", "mqtt://u:p@b"), f"--broker: {REFUSED_LOGIN}"),
        (("--actuator", "elbow=1", "--driver", "sim"),
         f"--actuator: elbow: no joint that needs it; there are {', '.join(ARM)}; correct it"),
        (("--port", "/dev/u", "--actuator", "bace=1"),
         f"--actuator: bace: no joint that needs it; there are {', '.join(ARM)}; correct it"),
        (("--port", "/dev/u", "--actuator", "base=9"),
         f"--actuator: '9' is none of them; there are {SIX_SERVOS}; choose one"),
        (("--port", "/dev/u", "--actuator", "base=1", "--actuator", "shoulder=1"),
         "--actuator: '1' is none of them; there are 2, 3, 4, 5, 6; choose one"),
        (("--port", "/dev/u", "--actuator", "base=1"),
         ("which servo moves joint 'shoulder' is not known; a wrong one would move another joint, so that "
         "--yes does not guess; add --actuator shoulder=…, one of 2, 3, 4, 5, 6; or --driver sim")),
        (("--port", "/dev/u", "--baud", "57600"),
         ("which servo moves joint 'base' is not known; a wrong one would move another joint, so that "
         f"--yes does not guess; add --actuator base=…, one of {SIX_SERVOS}; or --driver sim")),
    ],
)  # fmt: skip
def test_an_option_that_cannot_be_is_refused_and_no_actuator_is_guessed(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: Sequence[object],
    message: str,
) -> None:
    servos(monkeypatch, *range(1, 7))
    code, _, err = run_here(capsys, "init", folder, "--yes", *options)
    where = ": " if message.startswith("which") else " for "
    assert (code, err) == (2, f"motiond: invalid value{where}{message}; see `motiond --help`\n")
    assert of_this_test(folder) == []


# -- which actuator moves which joint -----------------------------------------------------------------------


def test_who_takes_servos_in_their_order_is_warned_that_it_is_a_guess(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = servos(monkeypatch, *range(1, 7))
    answer(monkeypatch, *[""] * 20)
    asked = ("init", folder, "--port", port, "--baud", "57600", *CLOSED)
    code, out, err = run_here(capsys, *asked)
    file = folder / "motiond.yaml"
    assert (code, err) == (0, "")
    guessed = "which actuator moves which joint was taken by their order; the file says how to check it\n"
    assert guessed in out
    assert "    # NOBODY HAS SAID WHICH ACTUATOR MOVES WHICH JOINT" in file.read_text()
    ids = {joint: number for number, joint in enumerate(ARM, 1)}
    expected = {"port": port, "baud_rate": 57_600, "ids": ids}
    assert load_settings(file).robots["six_axis"].driver.options["ports"] == [expected]
    answer(monkeypatch, "", "", "6", "6", "5", "4", "3", "2", "1", *[""] * 5)
    code, out, _ = run_here(capsys, *asked, "--force")
    assert (code, guessed in out) == (0, False)
    assert "Error: '6' is none of them; there are 1, 2, 3, 4, 5; choose one\n" in out
    assert "NOBODY HAS SAID" not in file.read_text()


def test_feetech_servos_are_found_where_no_others_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = servos(monkeypatch, 1, 2, model="SCS0009")
    code, out, _ = run_here(capsys, "init", tmp_path, "--yes", "--port", port, *CLOSED)
    assert (code, "found Feetech servos: 1, 2\n" in out) == (0, True)
    driver = load_settings(tmp_path / "motiond.yaml").robots["robot"].driver
    assert (driver.type, driver.options["ports"]) == (
        "feetech",
        [{"port": port, "baud_rate": 1_000_000, "ids": {"joint1": 1, "joint2": 2}}],
    )
    assert driver.options["models"] == {"joint1": "SCS0009", "joint2": "SCS0009"}


def test_servos_of_the_other_maker_are_named_where_those_asked_for_do_not_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = servos(monkeypatch, 1, 2)
    asked = ("--yes", "--driver", "feetech", "--port", port)
    said = f"no Feetech servo answers at {port}; DYNAMIXEL servos do: 1, 2; take --driver dynamixel"
    assert run_here(capsys, "init", tmp_path, *asked)[::2] == (2, f"driver feetech: {said}\n")


def test_servos_that_are_asked_for_and_do_not_answer_are_said_to_be_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = servos(monkeypatch)
    asked = ("--yes", "--driver", "dynamixel", "--port", port)
    hint = "check power and cables, name its --port, or begin with --driver sim"
    said = f"driver dynamixel: no DYNAMIXEL servo answers; {hint}\n"
    assert run_here(capsys, "init", tmp_path, *asked)[::2] == (2, said)


@pytest.mark.parametrize("driver", ["dynamixel", "feetech"])
def test_a_port_by_which_a_daemon_drives_a_robot_is_named_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, driver: str
) -> None:
    def refuse(port: str, _: Sequence[int]) -> NoReturn:
        raise DriverError(port, "cannot be opened", "another program uses it", "stop that one")

    port = servos(monkeypatch)
    for one in ("dynamixel", "feetech"):
        monkeypatch.setattr(f"motiond.drivers.{one}.scan", refuse)
    monkeypatch.setattr(
        "motiond.daemon.stream.locks.robot_at", lambda names: "arm" * (f"serial:{port}" in names)
    )
    said = (
        f"{port}: a daemon drives robot 'arm' by it; one port has one master; "
        "to look for servos, stop that daemon\n"
    )
    code, out, err = run_here(capsys, "init", tmp_path, "--yes", "--driver", driver, "--port", port)
    assert (code, said in out, err) == (2, True, said)


SO101 = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
IS_IT = "six STS3215 with the ids 1 to 6 answer: are they an SO-101, numbered as LeRobot does?"


def test_six_servos_are_offered_as_an_so101(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = servos(monkeypatch, *range(1, 7), model="STS3215")
    asked = answer(monkeypatch, *[""] * 10)
    code, out, err = run_here(capsys, "init", tmp_path, "--port", port, *CLOSED)
    assert (code, err, asked[:2]) == (
        0,
        "",
        [IS_IT, "its name, in topics and on the command line [so101]"],
    )
    assert "so101: greet: ok; 9 s, speed up to 2.03\n" in out
    robot = load_settings(tmp_path / "motiond.yaml").robots["so101"]
    assert robot.model is not None
    assert robot.model.file == tmp_path / "robots" / "so101.urdf"
    assert robot.motions == [tmp_path / "motions" / "so101"]
    ids = {joint: number for number, joint in enumerate(SO101, 1)}
    assert robot.driver.options["ports"] == [{"port": port, "baud_rate": 1_000_000, "ids": ids}]
    assert robot.driver.options["torque_limit"] == {"gripper": 0.5}
    assert [joint for joint, one in robot.joints.items() if one.allow_stalling] == ["gripper"]
    written = (tmp_path / "motiond.yaml").read_text()
    assert written.count("limits: {velocity: 2.5, acceleration: 12.0}") == len(SO101)
    assert "NOBODY HAS SAID" not in written


@pytest.mark.parametrize(("options", "typed"), [((), "n"), (("--yes",), "")])
def test_six_servos_are_no_so101_unless_somebody_says_so(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: Sequence[str],
    typed: str,
) -> None:
    port = servos(monkeypatch, *range(1, 7), model="STS3215")
    answer(monkeypatch, typed, *[""] * 13)
    assert run_here(capsys, "init", tmp_path, "--port", port, *options, *CLOSED)[0] == 0
    joints = load_settings(tmp_path / "motiond.yaml").robots["robot"].joints
    assert [*joints] == [f"joint{number}" for number in range(1, 7)]
    assert of_this_test(tmp_path) == ["motiond.yaml"]
    assert not (tmp_path / "robots").exists()


def test_servos_of_a_description_of_an_so101_are_known_by_their_ids(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_down("so101", tmp_path, forced=False)
    port = servos(monkeypatch, *range(6, 0, -1), model="STS3215")
    code, _, err = run_here(capsys, "init", tmp_path, "--yes", "--force", "--port", port, *CLOSED)
    assert (code, err) == (0, "")
    (bus,) = load_settings(tmp_path / "motiond.yaml").robots["so101"].driver.options["ports"]
    assert bus["ids"] == {joint: number for number, joint in enumerate(SO101, 1)}


def test_a_module_called_as_another_joint_is_not_offered(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    modules(monkeypatch, "aaa", *ARM[1:])
    asked = answer(monkeypatch, *[""] * 20)
    assert run_here(capsys, "init", folder, "--driver", "hebi", *CLOSED)[0] == 0
    assert "the HEBI module of joint 'base' (aaa) [aaa]" in asked
    driver = load_settings(folder / "motiond.yaml").robots["six_axis"].driver
    assert driver.options["names"] == ["aaa", *ARM[1:]]


def test_actuators_that_are_asked_for_and_too_few_end_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    modules(monkeypatch, "base")
    code, _, err = run_here(capsys, "init", folder, "--yes", "--driver", "hebi")
    hint = "check power and cables, or begin with --driver sim"
    message = f"driver hebi: 1 HEBI modules answered; the robot needs 6 at least; {hint}\n"
    assert (code, err, of_this_test(folder)) == (2, message, [])


def test_without_hebi_py_simulated_actuators_are_offered(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(_: object) -> NoReturn:
        raise DriverConfigError("driver hebi", "hebi-py is not installed", "it is optional", "install it")

    monkeypatch.setattr(actuators, "open_lookup", missing)
    code, out, _ = run_here(capsys, "init", folder, "--yes", *CLOSED)
    assert (code, "looking for" in out) == (0, False)
    assert "driver hebi: hebi-py is not installed; it is optional; install it\n" in out


def test_two_modules_of_one_name_are_not_taken(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    modules(monkeypatch, *ARM, "base")
    code, out, _ = run_here(capsys, "init", folder, "--yes", *CLOSED)
    assert "found HEBI modules: elbow, shoulder, wrist1, wrist2, wrist3\n" in out
    assert (code, load_settings(folder / "motiond.yaml").robots["six_axis"].driver.type) == (0, "sim")


@pytest.mark.parametrize(
    ("adapter", "pinged"),
    [
        ((0x0403, 1), True),
        ((0x2F5D, 1), True),
        ((0x1A86, 0x55D3), True),
        ((0x1A86, 0x7523), False),
        ((0x2341, 1), False),
    ],
)
def test_an_unknown_device_at_usb_is_not_pinged_unasked(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    adapter: tuple[int, int],
    pinged: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    vendor, product = adapter
    servos(monkeypatch)
    ports(monkeypatch, ("/dev/u", vendor), ("/dev/ttyS0", None), product=product)
    code, out, _ = run_here(capsys, "init", folder, "--yes", *CLOSED)
    assert (code, "looking for servos on /dev/u\n" in out, "/dev/ttyS0" in out) == (0, pinged, False)


def test_a_port_goes_by_the_name_that_lasts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = tmp_path / "ttyUSB0"
    device.touch()
    by_id = tmp_path / "by-id"
    by_id.mkdir()
    (by_id / "usb-FTDI_A").symlink_to(device)
    monkeypatch.setattr(actuators, "BY_ID", by_id)
    ports(monkeypatch, (str(device), 0x0403))
    assert usb_ports(Questions(yes=True)) == [str(by_id / "usb-FTDI_A")]


# -- files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "typed", "goes"),
    [(("--yes",), "", False), ((), "", False), (("--yes", "--force"), "", True), ((), "y", True)],
)
def test_a_file_that_is_there_goes_only_where_somebody_agrees(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    typed: str,
    *,
    goes: bool,
) -> None:
    file = folder / "motiond.yaml"
    file.write_text("mine\n")
    answer(monkeypatch, typed, *[""] * 10)
    code, _, err = run_here(capsys, "init", folder, *options, *CLOSED)
    assert (code, err) == ((0, "") if goes else (2, f"{file}: {THERE}\n"))
    assert ("six_axis" in file.read_text(), of_this_test(folder)) == (goes, ["motiond.yaml"])


def test_answers_that_loading_the_file_refuses_leave_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, "", "", "", "", "-3", *[""] * 10)
    code, _, err = run_here(capsys, "init", folder, "--model", "none", "--driver", "sim", *CLOSED)
    message = "the lower limit of -1.5 is not below the upper limit, -3; make it the smaller one"
    assert (code, message in err, of_this_test(folder)) == (2, True, [])
    assert err.startswith(f"{folder / 'motiond.yaml'}:")


def test_a_motion_that_cannot_be_played_is_reported_and_the_configuration_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_seq(folder / "motions" / "other.seq", sweep(0.5), ("shoulder", "tail"), 200)
    code, out, _ = run_here(capsys, "init", folder, "--yes", "--driver", "sim", *CLOSED)
    assert (code, of_this_test(folder)) == (1, ["motiond.yaml"])
    assert "six_axis: nod: ok; 4 s" in out


def test_hidden_folders_and_names_that_cannot_be_written_are_not_looked_into(tmp_path: Path) -> None:
    for place in (".git", "deep/a/b/c", "x\ny", "fine"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "arm.hrdf").touch()
        (tmp_path / place / "nod.SEQ").touch()
    (tmp_path / "fine" / "li\u2028ne.seq").touch()
    found = look_into(tmp_path)
    assert (found.models, found.motions) == ([tmp_path / "fine" / "arm.hrdf"], [tmp_path / "fine"])


def test_urdf_brings_units_reductions_and_the_folder_of_its_meshes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Reductions are offered alone: an actuator may count the turns of its output."""
    (tmp_path / "picker" / "urdf").mkdir(parents=True)
    shutil.copy(PICKER, tmp_path / "picker" / "urdf")
    (tmp_path / "picker" / "upper.stl").write_bytes(bytes(80) + b"\1\0\0\0" + bytes(50))
    code, out, err = run_here(capsys, "init", tmp_path, "--yes", *CLOSED)
    config = tmp_path / "motiond.yaml"
    settings = load_settings(config)
    picker = settings.robots["picker"]
    assert (code, "written; the check of it follows" in out) == (0, True)
    assert "is not shown" not in err
    assert settings.resource_paths == [tmp_path / "picker"]
    assert picker.model is not None
    assert picker.model.file == tmp_path / "picker" / "urdf" / "picker.urdf"
    assert picker.joints == {}
    offered = "    # joints:\n    #   shoulder: {reduction: -100.5}\n"
    text = config.read_text()
    assert offered in text
    assert "these turn without end, and every way leads to the nearest turn: spin.\n" in text
    assert "velocity: {rad: 0.5, m: 0.25}" in text
    config.write_text(text.replace(offered, offered.replace("# ", "")))
    assert load_settings(config).robots["picker"].joints["shoulder"].reduction == -100.5


MJCF = "<mujoco model='arm'/>"
NO_ROBOT = "name --model or --joints; `motiond config example` lays down a robot to try"


@pytest.mark.parametrize(("asked", "taken"), [([], "arm.map.yaml"), (["none"], None)])
def test_a_map_of_columns_that_is_there_is_offered(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    asked: list[str],
    taken: str | None,
) -> None:
    (folder / "arm.map.yaml").write_text("joints: {base: J1}\n")
    if asked:
        answer(monkeypatch, "", "", "", *asked, "", "")
    run_here(capsys, "init", folder, *([] if asked else ["--yes"]), *CLOSED, "--driver", "sim")
    found = load_settings(folder / "motiond.yaml").robots["six_axis"].motion_map
    assert found == (taken and folder / taken)


@pytest.mark.parametrize("options", [["--yes"], []])
def test_what_is_there_instead_of_a_description_is_named_with_a_way_on(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("models").mkdir()
    Path("models", "arm.xml").write_text(MJCF)
    for name in ("walk", "wave"):
        Path(f"{name}.bag").write_text("#ROSBAG V2.0\n")
    answer(monkeypatch)
    code, out, err = run_here(capsys, "init", *options, *CLOSED)
    assert out.splitlines()[:3] == [
        (
            "walk.bag and 1 more: is a bag of ROS 1; motions of that kind are not read; "
            "convert it: `mcap convert in.bag out.mcap`, or `rosbags-convert`"
        ),
        (
            "models/arm.xml: is MJCF; robots are read from HRDF, SKEL, SDFormat and URDF; "
            "convert it: `mjcf2sdf arm.xml arm.sdf`"
        ),
        "no robot description is in .; joints are listed instead",
    ]
    if options:
        assert err == f".: has no robot description; --yes invents no robot; {NO_ROBOT}\n"
    assert (code, Path("motiond.yaml").exists()) == (2, False)


def test_limits_that_a_description_lacks_are_offered(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_here(capsys, "init", folder, "--yes", *CLOSED)
    config = folder / "motiond.yaml"
    text = config.read_text()
    offered = """\
    # Limits that the description lacks, or narrower ones. One that turns without end has no lower and
    # upper, but `continuous: true`.
    # joints:
    #   base:
    #     limits: {lower: -1.5, upper: 1.5, acceleration: 20}
"""
    assert offered in text
    config.write_text(text.replace(offered, "".join(offered.replace("# ", "").splitlines(keepends=True)[2:])))
    (robot,) = load_settings(config).robots.values()
    assert robot.joints["base"].limits.acceleration == 20


def test_simulated_actuators_of_a_description_are_offered_weight_and_contacts(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_here(capsys, "init", folder, "--yes", *CLOSED)
    config = folder / "motiond.yaml"
    text = config.read_text()
    plain, offered = "    driver: {type: sim}\n", "    # driver: {type: sim, physics: true, floor: true}  #"
    assert plain in text
    assert offered in text
    config.write_text(text.replace(plain, "").replace(offered, offered.replace("# ", "", 1)))
    (robot,) = load_settings(config).robots.values()
    assert robot.driver.options == {"physics": True, "floor": True}


def test_a_description_of_another_suffix_is_found_by_its_content(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "robots" / "six_axis.hrdf").rename(folder / "arm.xml")
    (folder / "package.xml").write_text("<package/>")
    code, _, err = run_here(capsys, "init", folder, "--yes", *CLOSED)
    model = load_settings(folder / "motiond.yaml").robots["arm"].model
    assert (code, err, model and model.file) == (0, "", folder / "arm.xml")


@pytest.mark.parametrize("named", [True, False])
def test_no_robot_is_invented_where_another_format_describes_it(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    named: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """Limits would be invented, though joints are named by a motion."""
    (tmp_path / "arm.xml").write_text(MJCF)
    if named:
        write_seq(tmp_path / "nod.seq", sweep(0.5), ("shoulder",), 200)
    code, _, err = run_here(capsys, "init", tmp_path, "--yes", *CLOSED)
    assert (code, err) == (2, f"{tmp_path}: has no robot description; --yes invents no robot; {NO_ROBOT}\n")
    run_here(capsys, "init", tmp_path, "--yes", "--joints", "shoulder", *CLOSED)
    assert [*load_settings(tmp_path / "motiond.yaml").robots["robot"].joints] == ["shoulder"]


def test_no_joint_is_invented(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _, err = run_here(capsys, "init", tmp_path, "--yes", *CLOSED)
    message = f"{tmp_path}: has no robot description; nothing names its joints; {NO_ROBOT}\n"
    assert (code, err, of_this_test(tmp_path)) == (2, message, [])
    asked = answer(monkeypatch, "", "", "hip,,knee", "hip,knee", *[""] * 10)
    code, out, _ = run_here(capsys, "init", tmp_path, *CLOSED)
    assert (code, asked[1]) == (0, "its joints, in their order")
    assert out.count("Error: a joint has no name; every joint needs one; write A,B,…\n") == 2
    assert [*load_settings(tmp_path / "motiond.yaml").robots["robot"].joints] == ["hip", "knee"]


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "robot"
    message = f"motiond: invalid value for DIR: {missing} is no folder; make it first; see `motiond --help`\n"
    assert run_here(capsys, "init", missing, "--yes") == (2, "", message)
