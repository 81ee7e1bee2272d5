"""Two runs beside each other: what differs beyond a bound, and what does not count."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pytest

from motiond.daemon.api import PlayRequest
from motiond.daemon.config.settings import load_settings
from motiond.daemon.ipc.ring import COLUMN, slices
from motiond.daemon.ipc.states import STATES, State
from motiond.daemon.telemetry.npz import save_trace
from motiond.daemon.tools.compare import Bounds, PlayedRows, compare, runs_in
from motiond.daemon.tools.dry_run import run_dry
from tests.daemon.programs import run_here
from tests.daemon.recording.recordings import JOINTS, Reports, records, write
from tests.daemon.rig import write_seq

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

CONFIG = Path(__file__).parents[3] / "config"
DEMO, WAVE = CONFIG / "demo.yaml", CONFIG / "motions" / "wave.seq"
UNITS = {"elbow": "rad", "slide": "m"}


def played(rows: Any, rate_hz: float = 100.0, code: str | None = None, **changed: Any) -> PlayedRows:
    positions = np.array(rows, float)
    parts: dict[str, Any] = {"name": "run", "joints": ("elbow", "slide"), "units": UNITS}
    times = np.arange(len(positions)) / rate_hz
    return PlayedRows(**(parts | changed), times=times, positions=positions, code=code)


def rising(rows: int = 11, elbow: float = 0.0, slide: float = 0.0) -> Floats:
    at = np.arange(rows) / 100
    return np.stack([at + elbow, at / 10 + slide], axis=1)


def problems(one: PlayedRows, other: PlayedRows, **bounds: float) -> list[str]:
    return compare(one, other, Bounds(**bounds)).problems


def test_runs_within_the_bounds_are_alike() -> None:
    assert problems(played(rising()), played(rising(elbow=0.0099, slide=-0.00099))) == []


def test_a_difference_names_joint_time_values_and_bound() -> None:
    rows = rising()
    rows[4:6, 0] += [0.02, 0.03]
    assert problems(played(rising()), played(rows)) == [
        (
            "joint 'elbow' differs by 0.03 rad at 0.050 s (0.05 and 0.08); "
            "the bound is 0.01 rad, passed from 0.040 s on in 2 rows"
        )
    ]


def test_what_turns_and_what_slides_have_bounds_of_their_own() -> None:
    one, other = played(rising()), played(rising(elbow=0.02, slide=0.002))
    assert len(problems(one, other)) == 2
    assert problems(one, other, rad=0.03, m=0.003) == []
    assert problems(one, other, rad=0.03)[0].startswith("joint 'slide' differs by 0.002 m at 0.0")


def test_a_joint_of_unknown_unit_has_that_of_the_other_run() -> None:
    other = played(rising(slide=0.005), units={})
    assert problems(played(rising()), other)[0].startswith("joint 'slide' differs by 0.005 m")
    assert problems(other, played(rising()))[0].startswith("joint 'slide' differs by 0.005 m")


def test_joints_are_found_by_name() -> None:
    other = played(rising()[:, ::-1], joints=("slide", "elbow"))
    assert problems(played(rising()), other) == []
    assert problems(played(rising()), played(rising(), joints=("elbow", "wrist"))) == [
        "only the first has joint 'slide'",
        "only the second has joint 'wrist'",
    ]


def test_a_run_that_ends_early_differs_but_one_more_row_does_not() -> None:
    assert problems(played(rising(11)), played(rising(12))) == []
    assert problems(played(rising(11)), played(rising(14))) == ["one lasts 0.1 s, and the other 0.13 s"]
    assert problems(played(rising(14)), played(rising(11))) == ["one lasts 0.13 s, and the other 0.1 s"]


def test_codes_differ_where_both_are_known() -> None:
    ended = [played(rising(), code=code) for code in ("SUCCESSFUL", "CANCELED", None)]
    assert problems(ended[0], ended[1]) == ["one ended with SUCCESSFUL, and the other with CANCELED"]
    assert problems(ended[0], ended[2]) == []


def test_another_rate_does_not_count() -> None:
    fine = np.stack([np.arange(51) / 500, np.arange(51) / 5000], axis=1)
    for one, other in ((played(rising()), played(fine, 500.0)), (played(fine, 500.0), played(rising()))):
        found = compare(one, other, Bounds())
        assert found.problems == []
        assert len(found.notes) == 1
    assert found.notes == ("rows are 0.002 s apart in one, and 0.01 s in the other",)


def test_rows_that_are_missing_are_compared_at_their_times() -> None:
    whole = played(rising())
    kept = [0, 1, 2, 5, 6, 7, 8, 9, 10]
    late = PlayedRows("late", whole.joints, UNITS, whole.times[kept], whole.positions[kept])
    assert problems(whole, late, rad=1e-9, m=1e-9) == []
    assert problems(late, whole, rad=1e-9, m=1e-9) == []


def test_what_only_one_run_knows_differs() -> None:
    rows = rising()
    rows[3, 1] = np.nan
    (found,) = problems(played(rising()), played(rows))
    assert found.startswith("joint 'slide' differs by inf m at 0.030 s (0.003 and nan)")
    assert problems(played(rows), played(rows)) == []


def test_whole_turns_at_the_beginning_do_not_count_where_a_joint_turns_without_end() -> None:
    turn, endless = 2 * np.pi, frozenset({"elbow"})
    one = played(rising())
    for turns in (-3, 1):
        other = played(rising(elbow=turns * turn), continuous=endless)
        for pair, away in (((one, other), turns), ((other, one), -turns)):
            found = compare(*pair, Bounds())
            assert found.problems == []
            assert found.notes == (f"joint 'elbow' begins {away:+d} turns away in the other",)
    assert len(problems(one, played(rising(elbow=turn)))) == 1
    assert len(problems(one, played(rising(slide=turn), continuous=endless))) == 1


def test_a_turn_more_on_the_way_counts() -> None:
    endless, rows = frozenset({"elbow"}), rising(elbow=2 * np.pi)
    rows[0, 0] = np.nan
    rows[6:, 0] += 2 * np.pi
    one = played([[np.nan, 0.0], *rising()[1:]], continuous=endless)
    (found,) = problems(one, played(rows, continuous=endless))
    assert found.startswith("joint 'elbow' differs by 6.283 rad at 0.0")
    assert found.endswith("passed from 0.060 s on in 5 rows")


# -- files --------------------------------------------------------------------------------------------------


def trace(path: Path, motion: str = "wave", **keys: Any) -> Path:
    run = run_dry(load_settings(DEMO), "arm", PlayRequest(motion=motion, **keys), traced=True)
    assert run.trace is not None
    save_trace(path, run.trace)
    return path


@pytest.mark.slow
def test_a_trace_begins_with_the_first_row_of_its_motion(tmp_path: Path) -> None:
    run, motion = runs_in(trace(tmp_path / "run.npz"), "reference")[0], runs_in(WAVE, "reference")[0]
    assert run.code == "SUCCESSFUL"
    assert run.positions.tobytes() == motion.positions.tobytes()
    (feedback,) = runs_in(tmp_path / "run.npz", "feedback")
    assert 0 < np.abs(feedback.positions - run.positions).max() < 0.05


@pytest.mark.slow
def test_a_trace_is_like_the_next_one_and_unlike_one_at_another_speed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    golden, again = trace(tmp_path / "golden.npz"), trace(tmp_path / "again.npz")
    code, out, err = run_here(capsys, "compare", golden, again, "--rad", "0", "--m", "0")
    assert (code, err, out.splitlines()[-1]) == (0, "", f"{golden} and {again} are alike")
    fast = trace(tmp_path / "fast.npz", speed=1.1)
    code, out, _ = run_here(capsys, "compare", golden, fast)
    assert (code, out.splitlines()[-1]) == (1, f"{golden} and {fast} differ")
    assert "joint 'base' differs by " in out


@pytest.mark.slow
def test_a_trace_and_a_recording_say_which_joints_turn_without_end(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    settings = load_settings(DEMO)
    joints = settings.robots["arm"].joints
    limits = joints["base"].limits.model_copy(update={"lower": None, "upper": None})
    joints["base"] = joints["base"].model_copy(update={"continuous": True, "limits": limits})
    run = run_dry(settings, "arm", PlayRequest(motion="wave"), traced=True)
    assert run.trace is not None
    save_trace(tmp_path / "run.npz", run.trace)
    assert runs_in(tmp_path / "run.npz", "reference")[0].continuous == {"base"}
    turn = 2 * np.pi
    one = recording(tmp_path / "one.mcap", continuous=("hip", "lift"))
    other = recording(tmp_path / "other.mcap", turned=turn)
    code, out, _ = run_here(capsys, "compare", one, other)
    assert code == 1
    assert "joint 'left knee' differs by 6.283 rad" in out
    assert "joint 'hip' differs" not in out
    assert [run.continuous for run in runs_in(one, "feedback")] == [{"hip", "lift"}] * 2


def recording(path: Path, goals: int = 2, *, off: float = 0.0, turned: float = 0.0, **about: Any) -> Path:
    """Write a recording of goals of 20 rows, all of them `turned`; the feedback is `off`."""
    parts, rows = slices(len(JOINTS)), records(30 * goals)
    for goal in range(goals):
        span = slice(30 * goal, 30 * goal + 30)
        states = [State.IDLE] * 3 + [State.APPROACHING] * 5 + [State.PLAYING] * 20 + [State.IDLE] * 2
        rows[span, COLUMN["state"]] = [STATES.index(state) for state in states]
        rows[span, COLUMN["goal"]] = goal + 1
        rows[span, parts["reference_position"]] = np.linspace(0, goal + 1, 30)[:, None] + turned
        rows[span, parts["position"]] = np.linspace(0, goal + 1, 30)[:, None] + turned + off
    reports: Reports = [
        ("result", {"goal_id": str(number), "motion": "wave", "code": code, "played_s": 0.02}, 1.0)
        for number, code in enumerate(("SUCCESSFUL", "CANCELED")[:goals])
    ]
    return write(path, rows, reports, **about)


def test_the_goals_of_recordings_are_compared_in_their_order(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    one, other = recording(tmp_path / "one.mcap"), recording(tmp_path / "other.mcap", off=0.5)
    assert [run.code for run in runs_in(one, "reference")] == ["SUCCESSFUL", "CANCELED"]
    code, out, _ = run_here(capsys, "compare", one, other, "--json")
    found = orjson.loads(out)
    assert (code, found["alike"], len(found["runs"])) == (0, True, 2)
    code, out, _ = run_here(capsys, "compare", one, other, "--source", "feedback")
    assert code == 1
    assert "run 2: joint 'lift' differs by 0.5 m at " in out
    single = recording(tmp_path / "single.mcap", goals=1)
    code, out, _ = run_here(capsys, "compare", one, single)
    assert (code, out.splitlines()[-2]) == (1, "there are 2 runs in one, and 1 in the other")


def test_what_cannot_be_read_ends_with_2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_seq(tmp_path / "swing.seq", rising(), ("left", "right"), 100)
    code, out, err = run_here(capsys, "compare", tmp_path / "swing.seq", tmp_path / "gone.seq")
    refusal = f"{tmp_path}/gone.seq: cannot be read; no such file; check the path\n"
    assert (code, out, err) == (2, "", refusal)
    code, _, err = run_here(capsys, "compare", tmp_path / "swing.seq", tmp_path / "swing.seq", "--rad", "nan")
    problem = "Input should be greater than or equal to 0"
    assert (code, err) == (2, f"motiond: invalid value for '--rad': {problem}; see `motiond --help`\n")


@pytest.mark.parametrize("option", ["--rad", "--m"])
def test_a_bound_without_end_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, option: str
) -> None:
    write_seq(tmp_path / "swing.seq", rising(), ("left", "right"), 100)
    code, out, err = run_here(
        capsys, "compare", tmp_path / "swing.seq", tmp_path / "swing.seq", option, "inf"
    )
    problem = "inf is no bound; give a finite number, how far joints may be off"
    refusal = f"motiond: invalid value for {option}: {problem}; see `motiond --help`\n"
    assert (code, out, err) == (2, "", refusal)
