"""What a recording proves of each run: what was played by what, how near to the limits, and how it ended.

It is written as JSON, and as JUnit XML, which CI reads: a test case for each run.
"""

from __future__ import annotations

import struct
from collections import Counter
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import orjson
from lxml import etree
from mcap.exceptions import McapError
from mcap.reader import make_reader
from mcap.records import Attachment
from mcap.stream_reader import StreamReader

from motiond.formats import FormatError, Problem, load_run
from motiond.formats.io import replacing
from motiond.text import printable

from ...joints import with_rounding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import BinaryIO

    from motiond.formats import Run
    from motiond.formats.model import PlayedGoal

Verdict: TypeAlias = Literal["passed", "failed", "incomplete"]
"""A run is incomplete if the recording lacks its end."""
SUCCESSFUL = "SUCCESSFUL"
SLACK = {"acceleration": 0.01}
"""As a share of the limit: differences of rows show an acceleration no better than that."""
PER_TIME = {"lower": "", "upper": "", "velocity": "/s", "acceleration": "/s²"}
DAMAGE = (McapError, struct.error)

Limits: TypeAlias = "Mapping[str, Mapping[str, Any]]"
"""Of each joint as the robot published them."""


@dataclass(frozen=True, slots=True)
class JointEvidence:
    """What a joint was asked for and did in one run, in `unit` and s; None where that is not known.

    - `lowest`, `highest`, `velocity`, `acceleration`: of its setpoints
    - `shares`: of these peaks in the limits, by `lower`, `upper`, `velocity`, `acceleration`, where there is
      such a limit; a position counts from the middle of its range
    - `error`, `error_time_s`, `error_rms`: of its feedback from its setpoints, and when that was largest
    - `beyond`: the limits that a peak passes
    """

    joint: str
    unit: str
    lowest: float
    highest: float
    velocity: float
    acceleration: float
    shares: Mapping[str, float]
    error: float | None
    error_time_s: float | None
    error_rms: float | None
    beyond: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunEvidence:
    """One goal.

    - `result`: as it was reported; None where the recording lacks it
    - `duration_s`: from its first row to its last, as reported, else as far as the recording has it
    - `rows`: of its setpoints in the recording; 0 where it did not come to its first row, and of what played
      beside others, as the rows of those are all of them
    - `reasons`: why it has failed or is incomplete
    """

    motion: str
    result: Mapping[str, Any] | None
    duration_s: float
    rows: int
    joints: tuple[JointEvidence, ...]
    verdict: Verdict
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """All runs of a recording, with what they were played by.

    - `about`: of the recording: file, robot, version, hashes, timing, gaps
    - `limits`: of each joint as the robot published them; empty where the recording does not have them
    """

    about: Mapping[str, Any]
    limits: tuple[Mapping[str, Any], ...]
    runs: tuple[RunEvidence, ...]

    @property
    def verdict(self) -> Verdict:
        """`passed` if at least one run has passed and none has failed."""
        verdicts = [run.verdict for run in self.runs]
        if "failed" in verdicts:
            return "failed"
        return "passed" if "passed" in verdicts else "incomplete"

    def payload(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        runs = [asdict(run) for run in self.runs]
        return {**self.about, "limits": list(self.limits), "runs": runs, "verdict": self.verdict}

    def write_json(self, path: Path) -> None:
        """Write it as JSON; a file that is there is replaced once all is written."""
        with replacing(path) as stream:
            stream.write(orjson.dumps(self.payload(), option=orjson.OPT_INDENT_2) + b"\n")

    def write_junit(self, path: Path) -> None:
        """Write it as JUnit XML; a file that is there is replaced once all is written."""
        with replacing(path) as stream:
            etree.ElementTree(_junit(self)).write(
                stream, encoding="UTF-8", xml_declaration=True, pretty_print=True
            )


def evidence_of(path: Path) -> Evidence:
    """Collect what a recording of motiond proves.

    Raises `FormatError` if it cannot be read, or is none.
    """
    recorded = load_run(path, points=4)
    attached = _attachments(path, is_whole=recorded.about["is_whole"])
    described = orjson.loads(attached.get("description.json", b"{}"))
    limits = {joint["name"]: joint for joint in described.get("joints", ())}
    about = _about(path, recorded.about, attached)
    return Evidence(about, tuple(limits.values()), tuple(_runs(recorded, limits)))


def _runs(recorded: Run, limits: Limits) -> Iterator[RunEvidence]:
    """Yield each goal of a recording, and then those that have no rows of their own or did not begin."""
    units = dict(zip(recorded.about["joints"], recorded.about["units"], strict=True))
    judged = set()
    for goal in recorded.goals:
        judged.add(goal.result.get("goal_id") if goal.result else None)
        yield _judged(goal.result, goal, limits, units)
    for result in recorded.about["results"]:
        if result.get("goal_id") not in judged:
            yield _judged(result, None, limits, units)


def _judged(
    result: Mapping[str, Any] | None, goal: PlayedGoal | None, limits: Limits, units: Mapping[str, str]
) -> RunEvidence:
    """Return the evidence of a run, with its verdict."""
    joints = tuple(_joints(goal, limits, units)) if goal else ()
    reasons = [f"joint '{joint.joint}' passes its limit: {text}" for joint in joints for text in joint.beyond]
    verdict: Verdict = "failed" if reasons else "passed"
    if reasons and (missed := (result or {}).get("timing", {}).get("missed_deadlines")):
        reasons.append(f"deadlines were missed ({missed}); rows that come late are further apart in time")
    if result is None:
        verdict = "failed" if reasons else "incomplete"
        reasons.append("the recording ends before its result")
    elif result["code"] != SUCCESSFUL:
        verdict = "failed"
        reasons.insert(0, str(result["message"]))
    return RunEvidence(
        motion=str(result["motion"]) if result else "?",
        result=result,
        duration_s=(result["played_s"] or 0.0) if result else goal.duration_s if goal else 0.0,
        rows=goal.rows if goal else 0,
        joints=joints,
        verdict=verdict,
        reasons=tuple(reasons),
    )


# -- joints -------------------------------------------------------------------------------------------------


def _joints(peaks: PlayedGoal, limits: Limits, units: Mapping[str, str]) -> Iterator[JointEvidence]:
    """Yield what each joint was asked for and did."""
    for column, joint in enumerate(peaks.joints):
        rates = {kind: float(getattr(peaks, kind)[column]) for kind in ("velocity", "acceleration")}
        reached = {"lower": float(peaks.lowest[column]), "upper": float(peaks.highest[column]), **rates}
        error, error_time_s, error_rms = (
            float(values[column]) if np.isfinite(values[column]) else None
            for values in (peaks.error, peaks.error_time_s, peaks.error_rms)
        )
        limit = limits.get(joint, {})
        yield JointEvidence(
            joint=joint,
            unit=units[joint],
            lowest=reached["lower"],
            highest=reached["upper"],
            **rates,
            shares=dict(_shares(reached, limit)),
            error=error,
            error_time_s=error_time_s,
            error_rms=error_rms,
            beyond=tuple(_beyond(reached, limit, units[joint])),
        )


def _shares(peaks: Mapping[str, float], limit: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield which part of each limit a peak takes."""
    lower, upper = limit.get("lower"), limit.get("upper")
    if lower is not None and upper is not None and upper > lower:
        middle, half = (lower + upper) / 2.0, (upper - lower) / 2.0
        yield "lower", (middle - peaks["lower"]) / half
        yield "upper", (peaks["upper"] - middle) / half
    for kind in ("velocity", "acceleration"):
        if limit.get(kind):
            yield kind, peaks[kind] / limit[kind]


def _beyond(peaks: Mapping[str, float], limit: Mapping[str, Any], unit: str) -> Iterator[str]:
    """Yield each limit that a peak passes, in words."""
    for kind, peak in peaks.items():
        if (bound := limit.get(kind)) is None:
            continue
        sign = -1.0 if kind == "lower" else 1.0
        allowed = float(with_rounding(np.array(sign * bound))) + SLACK.get(kind, 0.0) * abs(bound)
        if sign * peak > allowed:
            per_time = f"{unit}{PER_TIME[kind]}"
            yield f"{kind} {peak:.6g} {per_time}, limit {bound:g} {per_time}"


# -- the recording ------------------------------------------------------------------------------------------


def _attachments(path: Path, *, is_whole: bool) -> dict[str, bytes]:
    """Return what is attached to a recording, by name; of one that was attached twice, the last.

    What is not whole is read as far as it goes. Raises `FormatError` if it is damaged.
    """
    found: dict[str, bytes] = {}
    try:
        with path.open("rb") as stream, nullcontext() if is_whole else suppress(*DAMAGE):
            reader = make_reader(stream).iter_attachments() if is_whole else _attachments_in(stream)
            found.update((one.name, one.data) for one in reader)
    except DAMAGE as error:
        reason, hint = printable(str(error)), "the daemon repairs it at its next start"
        raise FormatError([Problem(printable(str(path)), 0, "is damaged", reason, hint)]) from error
    return found


def _attachments_in(stream: BinaryIO) -> Iterator[Attachment]:
    """Yield what is attached, without the index at the end of a file."""
    records = StreamReader(stream, emit_chunks=True).records
    return (record for record in records if isinstance(record, Attachment))


def _about(path: Path, recorded: Mapping[str, Any], attached: Mapping[str, bytes]) -> dict[str, Any]:
    configuration = orjson.loads(attached.get("motiond.json", b"{}"))
    robots = configuration.get("robots", {}).values()
    models = {Path(robot["model"]["file"]).name for robot in robots if robot.get("model")}
    kinds = {"motiond.json": "configuration", "description.json": "description"}
    kinds |= dict.fromkeys(models, "robot")
    return {
        "recording": printable(path.name),
        **{key: recorded[key] for key in ("robot", "driver", "version", "began_utc", "why")},
        "daemon": configuration.get("id"),
        **{key: recorded[key] for key in ("duration_s", "ticks", "is_whole", "gaps", "timing")},
        "files": [
            {
                "name": printable(name),
                "kind": kinds.get(name, "motion"),
                "bytes": len(data),
                "sha256": sha256(data).hexdigest(),
            }
            for name, data in attached.items()
        ],
    }


# -- JUnit --------------------------------------------------------------------------------------------------


def _junit(evidence: Evidence) -> etree._Element:
    """Return evidence as Jenkins' JUnit schema has it: a suite, and a case for each run."""
    about, runs = evidence.about, evidence.runs
    robot = printable(str(about["robot"]))
    verdicts = Counter(run.verdict for run in runs)
    counts = {
        "tests": len(runs),
        "failures": verdicts["failed"],
        "errors": 0,
        "skipped": verdicts["incomplete"],
    }
    counted = {key: str(count) for key, count in counts.items()}
    lasted = f"{sum(run.duration_s for run in runs):.3f}"
    suites = etree.Element("testsuites", {"name": "motiond", "time": lasted, **counted})
    began = str(about["began_utc"] or "")[:19]
    named = {"name": robot, "time": lasted, "timestamp": began}
    suite = etree.SubElement(suites, "testsuite", {**named, **counted})
    properties = etree.SubElement(suite, "properties")
    for name, value in _properties(evidence):
        etree.SubElement(properties, "property", name=name, value=value)
    names: Counter[str] = Counter()
    for run in runs:
        names[run.motion] += 1
        number = f" #{names[run.motion]}" if names[run.motion] > 1 else ""
        named = {"classname": robot, "name": printable(run.motion) + number, "time": f"{run.duration_s:.3f}"}
        case = etree.SubElement(suite, "testcase", named)
        _add_verdict(case, run)
        etree.SubElement(case, "system-out").text = "\n".join(map(printable, _summary(run)))
    return suites


def _properties(evidence: Evidence) -> Iterator[tuple[str, str]]:
    about = evidence.about
    for key in ("recording", "driver", "version", "daemon", "began_utc"):
        yield key, printable(str(about[key] or ""))
    timing = about["timing"]
    yield "ticks", str(timing["ticks"])
    yield "missed_deadlines", str(timing["missed"])
    yield "skipped_rows", str(timing["skipped"])
    for key, value in timing["lateness_s"].items():
        yield f"lateness_{key}_s", f"{value:g}"
    for file in about["files"]:
        yield f"sha256 {file['name']}", file["sha256"]


def _add_verdict(case: etree._Element, run: RunEvidence) -> None:
    if run.verdict == "passed":
        return
    lines = [printable(reason) for reason in run.reasons]
    if run.verdict == "incomplete":
        etree.SubElement(case, "skipped", message=lines[0])
        return
    code = str(run.result["code"]) if run.result and run.result["code"] != SUCCESSFUL else "LIMIT"
    etree.SubElement(case, "failure", type=code, message=lines[0]).text = "\n".join(lines)


def _summary(run: RunEvidence) -> Iterable[str]:
    """Return a line for each joint."""
    for joint in run.joints:
        error = "unknown" if joint.error is None else f"{joint.error:.4g} {joint.unit}"
        shares = ", ".join(f"{kind} {share:.0%}" for kind, share in joint.shares.items())
        yield f"{joint.joint}: worst error {error}" + (f"; of its limits: {shares}" if shares else "")
