"""`motiond init`: what is found and asked, what is written, and that nothing is written by halves."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
import typer

from motiond.daemon.cli.init import hardware, robot
from motiond.daemon.cli.init.command import write_checked
from motiond.daemon.cli.init.hardware import Actuator, Port, look_into, serial_ports
from motiond.daemon.config.settings import load_settings
from motiond.daemon.tools.example import example_config
from motiond.drivers.base import DriverConfigError
from motiond.formats import FormatError
from tests.daemon.programs import run_here
from tests.daemon.rig import sweep, write_seq

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIG = Path(__file__).parents[3] / "config"
ARM = ("base", "shoulder", "elbow", "wrist1", "wrist2", "wrist3")
CLOSED = ("--broker", "embedded", "--http", "none")
"""Answers that depend on nothing of the machine."""

UNLIMITED = "nothing keeps a motion from asking too much there; set `joints.NAME.limits`"
REFUSED_LOGIN = (
    "a password does not belong here; everybody who reads the configuration would see it; "
    "add username and password_file to it later"
)
OPEN = "whoever reaches it could move the robots; add token_file, or listen on 127.0.0.1"
THERE = (
    "exists already; it would be replaced; "
    "name another folder, or --force it; docs/init.md says how to add a robot"
)
FORMS = "embedded, mqtt://…, mqtts://…, ws://… or wss://…"
RATES = "servos have 9600 to 10500000"
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
    motions: [motions/]
    approach: {velocity: 0.5, acceleration: 1.0}
    joints:
      shoulder:
        limits: {lower: -1.5, upper: 1.5, velocity: 4.0}
      elbow:
        limits: {lower: -1.5, upper: 1.5, velocity: 4.0}
"""


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep from the tests what the machine has: its serial ports, its network, a broker."""
    monkeypatch.setattr(hardware, "serial_ports", list)
    monkeypatch.setattr(hardware, "open_lookup", lambda _: SimpleNamespace(entrylist=[]))
    monkeypatch.setattr(hardware, "LOOK_S", 0.0)
    monkeypatch.setattr(robot, "LOCAL_BROKER", ("127.0.0.1", 1))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the example's description and motions."""
    shutil.copytree(CONFIG / "robots", tmp_path / "robots")
    shutil.copytree(CONFIG / "motions", tmp_path / "motions")
    return tmp_path


def servos(monkeypatch: pytest.MonkeyPatch, *ids: int) -> str:
    """Have servos answer at a port, and return that."""

    def find(ports: Sequence[str], baud_rate: int | None) -> list[Actuator]:
        (port,) = ports
        return [Actuator("dynamixel", port, str(number), baud_rate or 57_600, "XL430-W250") for number in ids]

    monkeypatch.setattr(hardware, "find_servos", find)
    return "/dev/ttyUSB0"


def answer(monkeypatch: pytest.MonkeyPatch, *answers: str, then: type[BaseException] = EOFError) -> list[str]:
    """Type answers, and then what ends them; return the questions as they are asked."""
    asked: list[str] = []
    prompt = typer.prompt

    def noted(question: str, **options: Any) -> Any:
        asked.append(question)
        return prompt(question, **options)

    def read(_: str) -> str:
        if not left:
            raise then
        return left.pop(0)

    left = [*answers]
    monkeypatch.setattr(typer, "prompt", noted)
    monkeypatch.setattr("typer._click.termui.visible_prompt_func", read)
    return asked


def modules(monkeypatch: pytest.MonkeyPatch, *names: str, family: str = "Arm") -> None:
    entries = [SimpleNamespace(family=family, name=name, is_stale=False) for name in names]
    monkeypatch.setattr(hardware, "open_lookup", lambda _: SimpleNamespace(entrylist=entries))


def of_this_test(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name not in {"robots", "motions"})


# -- what is written ----------------------------------------------------------------------------------------


def test_the_file_says_what_was_found_and_chosen_and_what_each_line_means(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path.parent / "motiond"
    monkeypatch.setattr("sys.argv", [str(program)])
    (tmp_path / "motions").mkdir()
    write_seq(tmp_path / "motions" / "nod.seq", sweep(1.0, 40), ("shoulder", "elbow"), 40)
    port = servos(monkeypatch, 1, 3)
    code, out, err = run_here(
        capsys, "init", tmp_path, "--yes", "--robot", "arm", "--port", port, "--velocity", "4",
        "--actuator", "shoulder=3", "--actuator", "elbow=1",
        "--broker", "mqtt://broker.local", "--http", "127.0.0.1:8081",
    )  # fmt: skip
    file = tmp_path / "motiond.yaml"
    schema = example_config().with_name("schema.json")
    assert (code, err) == (0, "")
    text = file.read_text()
    assert text.startswith(f"# yaml-language-server: $schema={schema}\n#\n# A configuration of motiond, as")
    assert "\nmqtt:\n  broker: mqtt://broker.local\n" in text
    assert "\nhttp:\n  listen: 127.0.0.1:8081\n" in text
    assert WRITTEN in text
    everything = "\n".join(
        line.replace("# ", "", 1) for line in text.splitlines() if line.startswith("    # lease")
    )
    assert "lease: {required: true}" in everything
    assert out.splitlines() == [
        f"no robot description is in {tmp_path}; joints are listed instead",
        "found 2 servos: 1, 3",
        f"{file}: written, and checked",
        "arm: nod: ok; 1 s",
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


def test_modules_that_are_called_as_the_joints_need_no_question(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    modules(monkeypatch, *reversed(ARM), "gripper", family="Bench")
    code, out, err = run_here(capsys, "init", folder, "--yes", *CLOSED)
    assert (code, err) == (0, "")
    assert "found 7 HEBI modules: base, elbow, gripper, shoulder, wrist1, wrist2, wrist3\n" in out
    driver = load_settings(folder / "motiond.yaml").robots["six_axis"].driver
    assert (driver.type, driver.options) == ("hebi", {"families": "Bench", "names": [*ARM]})


def test_what_modules_are_called_stays_on_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nasty = ("two\nlines", "x\nrobots: {}\x1b[2J", "no", "a: b # c", "{", "é\u2028")
    modules(monkeypatch, *nasty)
    names = [f"j{number}" for number in range(len(nasty))]
    options = [
        word for name, one in zip(names, nasty, strict=True) for word in ("--actuator", f"{name}={one}")
    ]
    code, out, _ = run_here(capsys, "init", tmp_path, "--yes", *options, *CLOSED)
    assert (code, "\x1b" in out) == (0, False)
    driver = load_settings(tmp_path / "motiond.yaml").robots["robot"].driver
    assert driver.options["names"] == [*nasty]
    (tmp_path / "motiond.yaml").unlink()
    asked = answer(monkeypatch, "", "", ",".join(names), *[""] * 20)
    code, out, err = run_here(capsys, "init", tmp_path, *CLOSED)
    assert (code, err) == (0, "")
    assert not any("\x1b" in shown or "\n" in shown for shown in (*asked, *out.splitlines()))
    driver = load_settings(tmp_path / "motiond.yaml").robots["robot"].driver
    assert sorted(driver.options["names"]) == sorted(nasty)


# -- questions ----------------------------------------------------------------------------------------------

CONVERSATION = (
    ("  1  robots/six_axis.hrdf\n  2  none\n", "number [robots/six_axis.hrdf]", "1"),
    ("", "its name, in topics and on the command line [six_axis]", "left"),
    ("", "look for servos on /dev/u, by pings at common baud rates? (y/n) [n]", "n"),
    ("no actuators that fit were found; simulated ones are offered\n",
     "files and folders of motions [motions]", ""),
    ("", "the broker: embedded, or mqtt://host[:port] [embedded]", "mqtt://b.local"),
    ("", "address of its page, or none [127.0.0.1:8080]", "none"),
)  # fmt: skip


def test_each_question_has_a_default_and_the_answers_are_what_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hardware, "serial_ports", lambda: [Port("/dev/u", is_likely=False)])
    asked = answer(monkeypatch, *(typed for _, _, typed in CONVERSATION))
    code, out, err = run_here(capsys, "init", folder)
    assert (code, err) == (0, "")
    assert asked == [question for _, question, _ in CONVERSATION]
    assert all(shown in out for shown, _, _ in CONVERSATION)
    settings = load_settings(folder / "motiond.yaml")
    assert ([*settings.robots], settings.mqtt.broker, settings.http) == (["left"], "mqtt://b.local", None)


@pytest.mark.parametrize("answered", range(len(CONVERSATION)))
def test_an_end_at_any_question_leaves_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, answered: int
) -> None:
    monkeypatch.setattr(hardware, "serial_ports", lambda: [Port("/dev/u", is_likely=False)])
    typed = [typed for _, _, typed in CONVERSATION[:answered]]
    question = CONVERSATION[answered][1].rpartition(" [")[0]
    reason = "standard input has ended, and nothing is written"
    told = f"motiond: no answer to: {question}; {reason}; answer it, or take all defaults with --yes\n"
    for then, code, said in ((EOFError, 2, told), (KeyboardInterrupt, 130, "")):
        asked = answer(monkeypatch, *typed, then=then)
        ended, out, err = run_here(capsys, "init", folder)
        assert (ended, err, len(asked)) == (code, said, answered + 1)
        assert "written, and checked" not in out
        assert of_this_test(folder) == []


def test_an_answer_that_cannot_be_is_asked_for_again(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = (
        "7", "", "my robot", "bridge", "arm", "nowhere", "motions", "amqp://b", "mqtt://u:secret@b", "",
        "0.0.0.0:80", "none",
    )  # fmt: skip
    answer(monkeypatch, *answers)
    code, out, err = run_here(capsys, "init", folder)
    assert (code, err) == (0, "")
    assert [line.rpartition("Error: ")[2] for line in out.splitlines() if "Error: " in line] == [
        "'7' is none of them; there are robots/six_axis.hrdf, none; choose one",
        "'my robot' cannot be a part of a topic; letters, digits, _ and - can; rename it",
        "'bridge' cannot be a robot; the daemon's own topics begin with it; rename it",
        "'nowhere' is not there; name files and folders, or none",
        "'amqp://b' is no broker; it must be embedded, mqtt://…, mqtts://…, ws://… or wss://…; correct it",
        f"{REFUSED_LOGIN}",
        f"'0.0.0.0:80' is open to others without a token; {OPEN}",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--robot", "a/b"),
         "--robot: 'a/b' cannot be a part of a topic; letters, digits, _ and - can; rename it"),
        (("--driver", "kuka"), "'--driver': 'kuka' is not one of 'sim', 'hebi', 'dynamixel'"),
        (("--model-name", "leg", "--model", MODEL),
         f"--model-name: {MODEL} has no robot 'leg' that moves; it has six_axis; choose one"),
        (("--model", "none", "--velocity", "fast"),
         "'--velocity': Input should be a valid number, unable to parse string as a number"),
        (("--baud", "5"), "'--baud': Input should be greater than or equal to 9600"),
        (("--broker", "mqtt://u:p@b"), f"--broker: {REFUSED_LOGIN}"),
        (("--actuator", "elbow=1", "--driver", "sim"),
         "--actuator: simulated actuators are called as their joints; leave it out"),
        (("--actuator", "elbow"), "--actuator: 'elbow' is no JOINT=ID or JOINT=NAME; write both"),
    ],
)  # fmt: skip
def test_an_option_that_cannot_be_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], options: Sequence[object], message: str
) -> None:
    refused = run_here(capsys, "init", folder, "--yes", *options)
    assert (refused[0], refused[2]) == (2, f"motiond: invalid value for {message}; see `motiond --help`\n")
    assert of_this_test(folder) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(
            ((option, "0.5"),
             (f"{option}: the description, {{model}}, has joints and limits; "
              "leave it out, or add --model none"))
            for option in ("--joints", "--lower", "--upper", "--velocity")
        ),
        (("--baud", "57600"),
         "--baud: no serial port was looked at for servos; leave it out, or add --port"),
        (("--baud", "57600", "--driver", "sim"),
         "--baud: no serial port was looked at for servos; leave it out, or add --port"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("model", [(), ("--model", MODEL)])
def test_an_option_that_would_count_for_nothing_is_refused(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    options: Sequence[object],
    message: str,
    model: Sequence[object],
) -> None:
    refused = run_here(capsys, "init", folder, "--yes", *model, *options, *CLOSED)
    file = MODEL if model else folder / "robots" / "six_axis.hrdf"
    told = f"motiond: invalid value for {message.format(model=file)}; see `motiond --help`\n"
    assert (refused[0], refused[2]) == (2, told)
    assert of_this_test(folder) == []


# -- which actuator moves which joint -----------------------------------------------------------------------


def test_nobody_guesses_which_servo_moves_which_joint_unasked(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = servos(monkeypatch, *range(1, 7))
    code, _, err = run_here(capsys, "init", folder, "--yes", "--port", port, "--baud", "57600")
    example = " ".join(f"--actuator {joint}={number}" for number, joint in enumerate(ARM, 1))
    reason = "a wrong one would move another joint, so that --yes does not guess"
    said = (
        f"which servo moves which joint is not known; {reason}; say it, as by {example}, or add --driver sim"
    )
    assert (code, err) == (2, f"motiond: invalid value: {said}; see `motiond --help`\n")
    assert of_this_test(folder) == []


def test_who_takes_servos_in_their_order_is_told_that_it_is_a_guess(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = servos(monkeypatch, *range(1, 7))
    answer(monkeypatch, *[""] * 20)
    asked = ("init", folder, "--port", port, "--baud", "57600", *CLOSED)
    code, out, err = run_here(capsys, *asked)
    file = folder / "motiond.yaml"
    assert (code, err) == (0, "")
    told = "which actuator moves which joint was taken by their order; the file says how to check it\n"
    assert told in out
    assert "    # NOBODY HAS SAID WHICH ACTUATOR MOVES WHICH JOINT" in file.read_text()
    ids = {joint: number for number, joint in enumerate(ARM, 1)}
    expected = {"port": port, "baud_rate": 57_600, "ids": ids}
    assert load_settings(file).robots["six_axis"].driver.options["ports"] == [expected]
    answer(monkeypatch, "", "", "", "6", "6", "5", "4", "3", "2", "1", *[""] * 5)
    code, out, _ = run_here(capsys, *asked, "--force")
    assert (code, told in out) == (0, False)
    assert "Error: '6' moves another joint already; choose another\n" in out
    assert "NOBODY HAS SAID" not in file.read_text()


@pytest.mark.parametrize(
    ("actuators", "message"),
    [
        (("base=1",),
         "nothing is said of shoulder, elbow, wrist1, wrist2, wrist3; each joint needs its actuator; add it"),
        (("base=9",), "no servo '9' answered; there are 1, 2, 3, 4, 5, 6; choose one"),
        (("bace=1",), f"the robot has no joint 'bace'; there are {', '.join(ARM)}; did you mean 'base'?"),
        (("base=1", "base=2"), "'base' stands twice; a joint has one actuator; leave one out"),
        (("base=1", "elbow=1"), "'1' moves another joint already; choose another"),
    ],
)  # fmt: skip
def test_a_joint_that_is_moved_by_nothing_or_twice_is_refused(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    actuators: Sequence[str],
    message: str,
) -> None:
    port = servos(monkeypatch, *range(1, 7))
    options = [word for one in actuators for word in ("--actuator", one)]
    code, _, err = run_here(capsys, "init", folder, "--yes", "--port", port, *options)
    said = f"motiond: invalid value for --actuator: {message}; see `motiond --help`\n"
    assert (code, err) == (2, said)


def test_actuators_that_are_asked_for_and_too_few_end_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    modules(monkeypatch, "base")
    code, _, err = run_here(capsys, "init", folder, "--yes", "--driver", "hebi")
    hint = "check power and cables, or begin with --driver sim"
    said = f"driver hebi: 1 HEBI module answered; the robot needs 6 at least; {hint}\n"
    assert (code, err, of_this_test(folder)) == (2, said, [])


def test_without_hebi_py_no_look_for_modules_is_announced(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(_: object) -> NoReturn:
        raise DriverConfigError("driver hebi", "hebi-py is not installed", "it is optional", "install it")

    monkeypatch.setattr(hardware, "open_lookup", missing)
    assert hardware.find_modules() == []
    assert capsys.readouterr().out == "driver hebi: hebi-py is not installed; it is optional; install it\n"


def test_two_modules_of_one_name_are_not_taken(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    modules(monkeypatch, *ARM, "base")
    code, out, _ = run_here(capsys, "init", folder, "--yes", *CLOSED)
    said = "2 modules are called Arm/base; any of them could be meant; rename all but one with HEBI Scope"
    assert f"driver hebi: {said}\n" in out
    assert (code, load_settings(folder / "motiond.yaml").robots["six_axis"].driver.type) == (0, "sim")


@pytest.mark.parametrize(("is_likely", "pinged"), [(True, ["/dev/u"]), (False, [])])
def test_an_unknown_device_at_usb_is_not_pinged_unasked(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    is_likely: bool,  # noqa: FBT001 - a parameter of the test
    pinged: list[str],
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(hardware, "serial_ports", lambda: [Port("/dev/u", is_likely)])

    def ping(ports: list[str], *_: object) -> list[Actuator]:
        seen.extend(ports)
        return []

    monkeypatch.setattr(hardware, "find_servos", ping)
    assert run_here(capsys, "init", folder, "--yes", *CLOSED)[0] == 0
    assert seen == pinged


def test_a_port_goes_by_the_name_that_lasts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = tmp_path / "ttyUSB0"
    device.touch()
    by_id = tmp_path / "by-id"
    by_id.mkdir()
    (by_id / "usb-FTDI_A").symlink_to(device)
    there = [
        SimpleNamespace(device="/dev/ttyACM7", vid=0x2341),
        SimpleNamespace(device="/dev/ttyS0", vid=None),
        SimpleNamespace(device=str(device), vid=0x0403),
    ]
    monkeypatch.setattr("serial.tools.list_ports.comports", lambda: there)
    ports = serial_ports(by_id)
    assert ports == [Port("/dev/ttyACM7", is_likely=False), Port(str(by_id / "usb-FTDI_A"), is_likely=True)]


# -- files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [("--yes",), ()])
def test_a_file_that_is_there_stays_unless_somebody_agrees(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
) -> None:
    file = folder / "motiond.yaml"
    file.write_text("mine\n")
    answer(monkeypatch, "")
    code, _, err = run_here(capsys, "init", folder, *options)
    assert (code, err) == (2, f"{file}: {THERE}\n")
    assert (file.read_text(), of_this_test(folder)) == ("mine\n", ["motiond.yaml"])


@pytest.mark.parametrize(("options", "typed"), [(("--yes", "--force"), ()), ((), ("y",))])
def test_a_file_that_is_there_goes_where_somebody_agrees(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    typed: tuple[str, ...],
) -> None:
    file = folder / "motiond.yaml"
    file.write_text("mine\n")
    answer(monkeypatch, *typed, *[""] * 10)
    assert run_here(capsys, "init", folder, *options, *CLOSED)[0] == 0
    assert [*load_settings(file).robots] == ["six_axis"]


def test_a_file_that_comes_meanwhile_stays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = folder / "motiond.yaml"
    text = "robots: {a: {model: robots/six_axis.hrdf, driver: {type: sim}}}\n"
    monkeypatch.setattr(typer, "echo", lambda _: file.write_text("mine\n"))
    with pytest.raises(FormatError) as refused:
        write_checked(file, text, may_replace=False)
    assert str(refused.value) == f"{file}: {THERE}"
    assert (file.read_text(), of_this_test(folder)) == ("mine\n", ["motiond.yaml"])


def test_limits_that_cannot_be_are_refused_by_the_check_of_the_whole(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run_here(capsys, "init", folder, "--yes", "--model", "none", "--upper", "-3", *CLOSED)
    said = "the lower limit of -1.5 is not below the upper limit, -3; make it the smaller one"
    assert (code, said in err, of_this_test(folder)) == (2, True, [])


def test_a_motion_that_cannot_be_played_is_told_and_the_configuration_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_seq(folder / "motions" / "other.seq", sweep(0.5), ("shoulder", "tail"), 200)
    code, out, err = run_here(capsys, "init", folder, "--yes", "--driver", "sim", *CLOSED)
    assert (code, of_this_test(folder)) == (1, ["motiond.yaml"])
    assert err.startswith("six_axis: other: ")
    assert "six_axis: nod: ok; 4 s\n" in out


def test_a_description_that_cannot_be_used_is_left_out_or_where_it_is_named_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = folder / "robots" / "a.hrdf"
    bad.write_text("<robot")
    code, out, _ = run_here(capsys, "init", folder, "--yes", "--driver", "sim", *CLOSED)
    assert (code, f"left out: {bad}:1: " in out) == (0, True)
    (folder / "motiond.yaml").unlink()
    code, _, err = run_here(capsys, "init", folder, "--yes", "--model", bad)
    assert (code, err.startswith(f"{bad}:1: "), of_this_test(folder)) == (2, True, [])


def test_hidden_folders_those_of_programs_and_names_that_cannot_be_written_are_not_looked_into(
    tmp_path: Path,
) -> None:
    for place in (".git", "venv", "deep/a/b/c", "node_modules", "x\ny", "fine"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "arm.hrdf").touch()
        (tmp_path / place / "nod.SEQ").touch()
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    (tmp_path / "fine" / "li\u2028ne.seq").touch()
    found = look_into(tmp_path)
    assert found == ([tmp_path / "fine" / "arm.hrdf"], [tmp_path / "fine"])


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "robot"
    told = f"motiond: invalid value for DIR: {missing} is no folder; make it first; see `motiond --help`\n"
    assert run_here(capsys, "init", missing, "--yes") == (2, "", told)
