"""No message of a command or a daemon echoes more than sixty characters of a value, and no JSON does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from motiond.daemon.api import Dispatcher, RawRequest
from motiond.text import LONGEST_VALUE
from tests.daemon.programs import run_here
from tests.daemon.rig import Rig

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[2]
DEMO, ARM = ROOT / "config" / "demo.yaml", ROOT / "config" / "robots" / "six_axis.hrdf"
WAVE, NAMELESS = ROOT / "config" / "motions" / "wave.seq", ROOT / "tests" / "files" / "good" / "two_feet.seq"
LONG = ("q" * 300, "q " * 150, "q/" * 150)
CUT = f"{'q' * 59}…"
_TOO_LONG = re.compile(rf"q{{{LONGEST_VALUE + 1}}}|(?:q ){{31}}|(?:q/){{31}}")


@pytest.mark.parametrize("long", LONG, ids=["word", "words", "path"])
@pytest.mark.parametrize(
    "line",
    [
        ("convert", WAVE, "out.seq", "--interpolation", "LONG"),
        ("convert", WAVE, "out.seq", "--joints", "LONG"),
        ("convert", WAVE, "out.seq", "--rename", "LONG=b"),
        ("convert", WAVE, "out.seq", "--format", "LONG"),
        ("convert", NAMELESS, "out.seq", "--joint-names", "LONG,LONG"),
        ("log-level", "LONG"),
        ("completion", "LONG"),
        ("status", "--broker", "LONG"),
        ("LONG",),
        ("play", "arm", "LONG", "--dry-run", "-c", DEMO),
        ("play", "LONG", "wave", "--dry-run", "-c", DEMO),
        ("play", "arm", "wave", "--dry-run", "--first", "LONG", "-c", DEMO),
        ("goto", "arm", "x=LONG"),
        ("check", "-c", DEMO, "LONG"),
        ("check", "-c", DEMO, "LONG", "--json"),
        ("check", "--robot", ARM, "--motion-joints", "LONG", NAMELESS),
        ("check", "--robot", ARM, "--motion-joints", "LONG", NAMELESS, "--json"),
        ("check", "--robot", ARM, "--name", "LONG", WAVE),
        ("plot", WAVE, "--joints", "LONG"),
    ],
    ids=lambda line: " ".join(str(word) for word in line if not isinstance(word, Path)),
)
def test_no_command_echoes_more_than_sixty_characters_of_a_value(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: Sequence[str | Path],
    long: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run_here(capsys, *(str(word).replace("LONG", long) for word in line))
    assert (code, out + err) != (0, "")
    # What was asked for is repeated to a program as it was.
    lines = [shown for shown in (out + err).splitlines() if not shown.startswith('    "motion": ')]
    assert [line for line in lines if _TOO_LONG.search(line)] == []


def test_a_long_command_is_named_by_its_first_sixty_characters(capsys: pytest.CaptureFixture[str]) -> None:
    see = "see `motiond --help`\n"
    command = f"motiond: no such command '{CUT}'; {see}"
    assert run_here(capsys, LONG[0]) == (2, "", command)


@pytest.mark.parametrize("file", ["motion.seq", "robot.hrdf"])
def test_json_has_problems_of_a_file_as_the_message_does(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, file: str
) -> None:
    motion = WAVE.read_text().replace("CompositeSeq", "LONG", 1)
    text = motion if file == "motion.seq" else "<robot version='1.3.0'><LONG/><link x='LONG'/></robot>"
    (tmp_path / file).write_text(text.replace("LONG", LONG[0]))
    code, out, _ = run_here(capsys, "inspect", "--json", tmp_path / file)
    assert code == 1
    assert CUT[:40] in out
    assert _TOO_LONG.search(out) is None


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("play", {"motion": "LONG"}),
        ("play", {"motion": "short", "first": {"marker": "LONG"}}),
        ("play", {"motion": "short", "path_tolerance": {"LONG": 0.1}}),
        ("play", {"motion": "short", "goal_tolerance": {"LONG": 0.1}}),
        ("goto", {"pose": "LONG"}),
        ("goto", {"joints": {"LONG": 0.1}}),
        ("seek", {"marker": "LONG"}),
        ("queue/remove", {"goal_id": "LONG"}),
        ("queue/move", {"goal_id": "LONG", "place": 1}),
        ("servo/reboot", {"servos": ["LONG"]}),
        ("servo/clear", {"servos": ["LONG"]}),
        ("fault", {"fault": "LONG"}),
        ("fault", {"fault": "stuck", "joint": "LONG"}),
        ("motions/delete", {"motion": "LONG"}),
    ],
    ids=lambda part: orjson.dumps(part).decode() if isinstance(part, dict) else part,
)
async def test_no_refusal_of_a_request_quotes_more_than_sixty_characters(
    tmp_path: Path, verb: str, body: dict[str, Any]
) -> None:
    rig = Rig(tmp_path)
    (tmp_path / "uploads").mkdir()
    rig.robot |= {"fault_requests": True, "motions": ["motions", {"folder": "uploads", "upload": True}]}
    async with rig.running() as registry:
        await rig.until_state("idle")
        dispatcher = Dispatcher(registry)
        if verb == "seek":
            await dispatcher.answer(RawRequest("arm", "play", b'{"motion": "long"}'))
            await rig.until_state("playing")
        payload = orjson.dumps(body).replace(b"LONG", LONG[0][:255].encode())
        answer = orjson.loads(await dispatcher.answer(RawRequest("arm", verb, payload)))
    assert (answer["status"], LONG[0][:20] in answer["error"]) == ("error", True), answer
    assert _TOO_LONG.search(answer["error"]) is None
