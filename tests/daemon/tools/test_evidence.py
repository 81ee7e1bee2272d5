"""What a recording proves of each run, as JSON and as JUnit XML."""

from __future__ import annotations

from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from lxml import etree

from motiond.daemon.ipc.ring import COLUMN
from motiond.daemon.ipc.states import STATES, State
from motiond.daemon.tools.recordings import evidence_of
from tests.daemon.programs import run_here
from tests.daemon.recording.recordings import JOINTS, PARTS, Reports, records, write
from tests.daemon.rig import Rig, ask

SCHEMA = etree.XMLSchema(etree.parse(Path(__file__).parents[2] / "files" / "junit.xsd"))
LIMITS: dict[str, Any] = {"lower": -1.0, "upper": 1.0, "velocity": 2.0, "acceleration": 20.0}
PERIOD_S = 0.01
GOALS = count(1)


def described(**limits: float | None) -> bytes:
    units = zip(JOINTS, ("rad", "rad", "m"), strict=True)
    joints = [{"name": name, "unit": unit, **LIMITS, **limits} for name, unit in units]
    return orjson.dumps({"joints": joints})


def recording(
    path: Path,
    results: list[dict[str, Any]],
    *,
    goals: int = 1,
    description: bytes | None = None,
    state: State = State.IDLE,
    is_finished: bool = True,
) -> Path:
    """Write a recording of goals of 100 rows each, from rest to rest over 0.5 rad, and back."""
    rows = records(110 * goals)
    rows[:, len(COLUMN) :] = 0.0
    rows[:, COLUMN["deadline_s"]] = rows[:, COLUMN["setpoint_s"]] = 100.0 + np.arange(len(rows)) * PERIOD_S
    swing = 0.25 - 0.25 * np.cos(np.linspace(0, 2 * np.pi, 100))
    for goal in range(goals):
        span = slice(110 * goal, 110 * goal + 110)
        states = [state] * 3 + [State.APPROACHING] * 2 + [State.PLAYING] * 99 + [State.IDLE] * 6
        rows[span, COLUMN["state"]] = [STATES.index(each) for each in states]
        rows[span, COLUMN["goal"]] = goal + 1
        played = slice(span.start + 5, span.start + 105)
        rows[played, PARTS["reference_position"]] = swing[:, None]
        rows[played, PARTS["position"]] = swing[:, None]
        rows[span.start + 30, PARTS["position"]] += 0.125
    configuration = {"id": "bench", "robots": {"arm": {"model": {"file": "a/arm.urdf"}}}}
    attached = {"motiond.json": orjson.dumps(configuration)}
    attached |= {} if description is None else {"description.json": description}
    attached |= {"arm.urdf": b"<robot/>", "wave.seq": b"rows"}
    reports: Reports = [("result", result, number + 1.0) for number, result in enumerate(results)]
    return write(path, rows, reports, attached, is_finished=is_finished)


def result(code: str = "SUCCESSFUL", message: str = "held", **changed: Any) -> dict[str, Any]:
    known = {"goal_id": str(next(GOALS)), "motion": "wave", "code": code, "message": message}
    return {**known, "played_s": 0.99, **changed}


def test_a_run_that_went_well_has_passed_with_its_peaks_and_errors(tmp_path: Path) -> None:
    evidence = evidence_of(recording(tmp_path / "run.mcap", [result()], description=described()))
    (run,) = evidence.runs
    assert (evidence.verdict, run.verdict, run.reasons) == ("passed", "passed", ())
    assert (run.motion, run.rows) == ("wave", 100)
    assert run.duration_s == pytest.approx(0.99)
    hip = run.joints[0]
    assert (hip.joint, hip.unit, hip.beyond) == ("hip", "rad", ())
    assert (hip.lowest, hip.highest) == pytest.approx((0.0, 0.5), abs=1e-3)
    assert hip.velocity == pytest.approx(0.25 * 2 * np.pi / 0.99, rel=1e-2)
    assert hip.acceleration == pytest.approx(0.25 * (2 * np.pi / 0.99) ** 2, rel=1e-2)
    assert (hip.error, hip.error_time_s) == pytest.approx((0.125, 0.25))
    assert hip.error_rms == pytest.approx(0.0125)
    assert hip.shares == pytest.approx(
        {"lower": 0.0, "upper": 0.5, "velocity": hip.velocity / 2, "acceleration": hip.acceleration / 20},
        abs=1e-3,
    )


def test_it_says_by_what_it_was_played(tmp_path: Path) -> None:
    found = evidence_of(recording(tmp_path / "run.mcap", [result()], description=described())).payload()
    known = ("recording", "robot", "daemon", "driver", "version", "began_utc", "ticks", "gaps")
    assert {key: found[key] for key in known} == {
        "recording": "run.mcap",
        "robot": "arm",
        "daemon": "bench",
        "driver": "sim",
        "version": "0.2.0",
        "began_utc": "2026-11-18T11:06:40.000Z",
        "ticks": 110,
        "gaps": [],
    }
    assert {(file["name"], file["kind"]) for file in found["files"]} == {
        ("motiond.json", "configuration"),
        ("description.json", "description"),
        ("arm.urdf", "robot"),
        ("wave.seq", "motion"),
    }
    hashes = {file["name"]: file["sha256"] for file in found["files"]}
    assert hashes["wave.seq"] == sha256(b"rows").hexdigest()
    assert found["limits"][0] == {"name": "hip", "unit": "rad", **LIMITS}


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ({"upper": 0.4}, "upper 0.499874 rad, limit 0.4 rad"),
        ({"lower": 0.1}, "lower 0 rad, limit 0.1 rad"),
        ({"velocity": 1.0}, "velocity 1.5862 rad/s, limit 1 rad/s"),
        ({"acceleration": 9.0}, "acceleration 10.0615 rad/s², limit 9 rad/s²"),
    ],
)
def test_setpoints_beyond_a_limit_fail_a_run(tmp_path: Path, limits: dict[str, float], text: str) -> None:
    evidence = evidence_of(recording(tmp_path / "run.mcap", [result()], description=described(**limits)))
    assert evidence.verdict == "failed"
    assert evidence.runs[0].reasons[0] == f"joint 'hip' passes its limit: {text}"
    none = dict.fromkeys(limits)
    without = recording(tmp_path / "none.mcap", [result()], description=described(**none))
    assert evidence_of(without).verdict == "passed"


def test_a_recording_without_limits_has_none(tmp_path: Path) -> None:
    evidence = evidence_of(recording(tmp_path / "run.mcap", [result()]))
    assert (evidence.verdict, evidence.limits, evidence.runs[0].joints[0].shares) == ("passed", (), {})
    assert evidence.runs[0].joints[2].unit == "m"


def test_runs_have_the_results_of_their_goals(tmp_path: Path) -> None:
    results = [
        result(),
        result("BUSY", "it plays", played_s=None, motion="nod"),
        result("CANCELED", "a soft stop", motion="bow"),
    ]
    evidence = evidence_of(recording(tmp_path / "run.mcap", results, goals=3))
    assert [(run.motion, run.rows, run.verdict) for run in evidence.runs] == [
        ("wave", 100, "passed"),
        ("bow", 100, "failed"),
        ("?", 100, "incomplete"),
        ("nod", 0, "failed"),
    ]
    assert [run.reasons for run in evidence.runs[1:]] == [
        ("a soft stop",),
        ("the recording ends before its result",),
        ("it plays",),
    ]


def test_what_played_beside_others_is_a_run_and_its_rows_are_theirs(tmp_path: Path) -> None:
    results = [
        result(motion="grip", beside=True),
        result(),
        result("CANCELED", "a soft stop", motion="breathe", beside=True),
    ]
    evidence = evidence_of(recording(tmp_path / "run.mcap", results))
    assert [(run.motion, run.rows, run.verdict, run.reasons) for run in evidence.runs] == [
        ("wave", 100, "passed", ()),
        ("grip", 0, "passed", ()),
        ("breathe", 0, "failed", ("a soft stop",)),
    ]


def test_a_recording_without_a_whole_run_proves_nothing(tmp_path: Path) -> None:
    assert evidence_of(recording(tmp_path / "run.mcap", [])).verdict == "incomplete"


def test_what_a_crash_left_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = recording(tmp_path / "run.mcap", [], description=described(), is_finished=False)
    with path.open("ab") as cut:
        cut.write(b"\x06\xff")  # of a chunk that was not written any more
    found = evidence_of(path).payload()
    assert (path.name, found["is_whole"], found["verdict"]) == ("run.mcap.part", False, "incomplete")
    assert [file["name"] for file in found["files"]] == [
        "motiond.json",
        "description.json",
        "arm.urdf",
        "wave.seq",
    ]
    assert found["limits"][0]["name"] == "hip"


def test_a_limit_that_is_passed_where_deadlines_were_missed_says_so(tmp_path: Path) -> None:
    late = result(timing={"missed_deadlines": 3})
    path = recording(tmp_path / "run.mcap", [late], description=described(acceleration=9.0))
    (run,) = evidence_of(path).runs
    why = "deadlines were missed (3); rows that come late are further apart in time"
    assert (run.verdict, run.reasons[-1]) == ("failed", why)


def test_the_first_row_of_a_run_that_began_earlier_is_no_start_from_rest(tmp_path: Path) -> None:
    path = recording(tmp_path / "run.mcap", [result()], description=described(), state=State.PLAYING)
    assert evidence_of(path).verdict == "passed"


def junit_of(evidence: Path, tmp_path: Path) -> etree._Element:
    evidence_of(evidence).write_junit(tmp_path / "run.xml")
    document = etree.parse(tmp_path / "run.xml")
    SCHEMA.assertValid(document)
    return document.getroot()


def test_each_run_is_a_test_case_that_ci_can_read(tmp_path: Path) -> None:
    bad = result("CANCELED", "a <soft> stop\x07", motion="wave")
    path = recording(tmp_path / "run.mcap", [result(), bad], goals=3, description=described())
    root = junit_of(path, tmp_path)
    (suite,) = root
    counts = {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "3", "failures": "1", "errors": "0", "skipped": "1"}
    assert (suite.get("name"), suite.get("timestamp")) == ("arm", "2026-11-18T11:06:40")
    cases = suite.findall("testcase")
    assert [(case.get("classname"), case.get("name"), case.get("time")) for case in cases] == [
        ("arm", "wave", "0.990"),
        ("arm", "wave #2", "0.990"),
        ("arm", "?", "0.990"),
    ]
    failure = cases[1].find("failure")
    assert failure is not None
    assert (failure.get("type"), failure.get("message")) == ("CANCELED", "a <soft> stop\\x07")
    assert cases[2].find("skipped") is not None
    assert (cases[0].findtext("system-out") or "").splitlines()[0] == (
        "hip: worst error 0.125 rad; of its limits: lower 0%, upper 50%, velocity 79%, acceleration 50%"
    )
    properties = {each.get("name"): each.get("value") for each in suite.iter("property")}
    assert properties["version"] == "0.2.0"
    timing = ("ticks", "missed_deadlines", "skipped_rows", "lateness_p99_s", "lateness_max_s")
    assert [properties[key] for key in timing] == ["330", "0", "0", "1e-05", "1e-05"]
    assert properties["sha256 wave.seq"] == sha256(b"rows").hexdigest()


def test_a_limit_that_is_passed_is_a_failure_of_its_case(tmp_path: Path) -> None:
    path = recording(tmp_path / "run.mcap", [result()], description=described(velocity=1.0))
    failure = junit_of(path, tmp_path).find(".//failure")
    assert failure is not None
    assert failure.get("type") == "LIMIT"
    assert (failure.text or "").splitlines() == [
        "joint 'hip' passes its limit: velocity 1.5862 rad/s, limit 1 rad/s",
        "joint 'left knee' passes its limit: velocity 1.5862 rad/s, limit 1 rad/s",
        "joint 'lift' passes its limit: velocity 1.5862 m/s, limit 1 m/s",
    ]


def test_the_command_writes_both_and_says_the_verdict(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = recording(tmp_path / "run.mcap", [result()], description=described())
    targets = tmp_path / "run.json", tmp_path / "run.xml"
    arguments = ("recording", "evidence", path, "--json", targets[0], "--junit", targets[1])
    code, out, err = run_here(capsys, *arguments)
    assert (code, err) == (0, "")
    shown = [" ".join(line.split()) for line in out.splitlines()]
    assert [line for line in shown if line.strip("─")] == [
        "wave: passed; 0.99 s, SUCCESSFUL",
        "joint unit error RMS lower upper velocity acceleration",
        "hip rad 0.125 0.0125 0% 50% 79% 50%",
        "left knee rad 0.125 0.0125 0% 50% 79% 50%",
        "lift m 0.125 0.0125 0% 50% 79% 50%",
        f"{targets[0]}: written",
        f"{targets[1]}: written",
        f"{path}: passed; 1 runs",
    ]
    assert orjson.loads(targets[0].read_bytes())["verdict"] == "passed"
    refusal = f"{targets[0]}: exists already; it would be overwritten; name another file, or --force it\n"
    assert run_here(capsys, *arguments) == (2, "", refusal)
    failed = recording(tmp_path / "failed.mcap", [result("CANCELED", "a soft stop")])
    code, out, _ = run_here(capsys, "recording", "evidence", failed)
    assert (code, out.splitlines()[0]) == (1, "wave: failed; 0.99 s, CANCELED; a soft stop")


def test_one_file_is_not_written_over_another(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = recording(tmp_path / "run.mcap", [result()], description=described())
    before, out, link = path.read_bytes(), tmp_path / "out", tmp_path / "link"
    link.symlink_to(out)
    for options, problem in (
        (("--json", out, "--junit", out), "that of --json, too; name another file"),
        (("--json", out, "--junit", link), "that of --json, too; name another file"),
        (("--json", path, "--force"), "the recording; name another file"),
        (("--junit", path, "--force"), "the recording; name another file"),
    ):
        code, shown, err = run_here(capsys, "recording", "evidence", path, *options)
        assert (code, shown, out.exists()) == (2, "", False)
        assert problem in " ".join(err.replace("│", " ").split())
    assert path.read_bytes() == before


@pytest.mark.slow
async def test_a_real_run_is_proven(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.robot["recording"] = {"folder": "recordings", "when": "motion"}
    async with rig.running() as registry:
        await rig.until_state("idle")
        await rig.rest_after((await ask(registry, "play", motion="short"))["goal_id"])
    (path,) = (tmp_path / "recordings").iterdir()
    evidence = evidence_of(path)
    (run,) = evidence.runs
    assert (evidence.verdict, run.motion, run.verdict, run.reasons) == ("passed", "short", "passed", ())
    assert [joint.joint for joint in run.joints] == ["shoulder", "elbow"]
    assert all(joint.error is not None and joint.error < 0.05 for joint in run.joints)
    assert len(evidence.limits) == 2
    junit_of(path, tmp_path)
