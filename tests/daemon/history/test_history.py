"""The history of a daemon's robots: asked like any verb, and never waited for."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from motiond.daemon.api import RawRequest, ReportHub, RequestError, parse
from motiond.daemon.config.settings import load_settings
from motiond.daemon.history import History
from motiond.daemon.history.history import ANSWER_S, CLOSE_S, MOST_WAITING
from motiond.daemon.robots.assembly import make_registry
from tests.daemon import answers
from tests.daemon.rig import Rig, ask, make_clock, stream_forks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from motiond.daemon.robots.registry import RobotRegistry


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


async def a_run(rig: Rig, folder: Path) -> AsyncIterator[RobotRegistry]:
    hub, history = ReportHub(), History.in_folder(folder, "d1")
    with stream_forks() as rig.forks:
        registry = make_registry(load_settings(rig.config), hub, rig.forks, make_clock(), history)
        async with rig.running_on(registry, hub):
            await rig.until_state("idle", len(rig.reports))
            yield registry


async def test_what_was_played_is_listed_over_restarts_with_who_asked(rig: Rig, tmp_path: Path) -> None:
    async for registry in a_run(rig, tmp_path / "state"):
        goal_id = (await ask(registry, "play", motion="short"))["goal_id"]
        result = await rig.result_of(goal_id)
        first = await ask(registry, "history")
        (listed,) = first["results"]
        assert {key: listed[key] for key in result.keys() & listed.keys()} == {
            key: result[key] for key in result.keys() & listed.keys()
        }
        assert (listed["ended_utc"], listed["missed_deadlines"]) == (result["stamp_utc"], 0)
        assert (first["more"], first["problem"]) == (False, None)
    async for registry in a_run(rig, tmp_path / "state"):
        assert await ask(registry, "history") == first
        await rig.result_of((await ask(registry, "goto", joints={"elbow": 0.2}))["goal_id"])
        newest = await ask(registry, "history", limit=1)
        assert ([one["motion"] for one in newest["results"]], newest["more"]) == (["goto"], True)
        older = await ask(registry, "history", before=newest["results"][0]["id"])
        assert older == first


async def test_a_result_is_in_the_history_as_soon_as_it_is_reported() -> None:
    history = History()
    history.add("arm", answers.result("g1"))
    assert [one["goal_id"] for one in (await history.answer("arm", 5, None))["results"]] == ["g1"]
    await history.close()


async def test_a_result_goes_to_its_thread_at_once_and_what_comes_meanwhile_follows_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = asyncio.get_running_loop()
    run, work = loop.run_in_executor, list[Any]()

    def start(executor: Any, act: Any, *given: Any) -> asyncio.Future[Any]:
        work.append(act)
        return run(executor, act, *given)

    monkeypatch.setattr(loop, "run_in_executor", start)
    history = History()
    history.add("arm", answers.result("g1"))
    assert len(work) == 1  # nothing had to come by: the process may be killed next
    history.add("arm", answers.result("g2"))
    answer = await history.answer("arm", 5, None)
    assert ([one["goal_id"] for one in answer["results"]], len(work)) == (["g2", "g1"], 1)
    await history.close()


async def test_a_disk_that_hangs_holds_up_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "run_in_executor", lambda *_: loop.create_future())
    history = History()
    for number in range(3 * MOST_WAITING):
        history.add("arm", answers.result(f"g{number}"))
    began_s = loop.time()
    with pytest.raises(RequestError) as refusal:
        await history.answer("arm", 5, None)
    assert (refusal.value.code, str(refusal.value)) == (
        "TIMEOUT",
        "arm/history: not read in 3 s; the disk does not answer; ask again",
    )
    assert loop.time() - began_s == pytest.approx(ANSWER_S)
    await history.close()
    assert loop.time() - began_s == pytest.approx(ANSWER_S + CLOSE_S)
    assert caplog.messages == [f"history: {MOST_WAITING} results were not written; the disk does not answer"]


async def test_what_cannot_be_kept_at_all_costs_a_line_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    history = History()
    history.add("arm", {"code": "SUCCESSFUL"})
    history.add("arm", answers.result("g2"))
    assert len((await history.answer("arm", 5, None))["results"]) == 1
    await history.close()
    assert caplog.messages == ["history: failed inside motiond"]


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"limit": 0}, "'limit' is 0; it must be greater than or equal to 1; correct it"),
        ({"limit": 1001}, "'limit' is 1001; it must be less than or equal to 1000; correct it"),
        ({"before": -1}, "'before' is -1; it must be greater than or equal to 0; correct it"),
        ({"before": 2**63}, f"'before' is {2**63}; it must be less than or equal to {2**53}; correct it"),
    ],
)
def test_what_is_asked_is_bounded(keys: dict[str, Any], why: str) -> None:
    with pytest.raises(RequestError) as refusal:
        parse(RawRequest("arm", "history", orjson.dumps(keys)))
    assert str(refusal.value) == f"arm/history: {why}"


async def test_each_daemon_has_a_file_of_its_own(tmp_path: Path) -> None:
    for daemon_id in ("d1", "d2"):
        history = History.in_folder(tmp_path, daemon_id)
        history.add("arm", answers.result(daemon_id))
        await history.close()
    assert set(os.listdir(tmp_path)) == {"history-d1.sqlite3", "history-d2.sqlite3"}  # noqa: PTH208 - a moment


async def test_without_a_folder_the_answer_says_so() -> None:
    history = History.in_folder(None, "d1")
    history.add("arm", answers.result("g1"))
    answer = await history.answer("arm", 5, None)
    assert ([one["goal_id"] for one in answer["results"]], answer["problem"]) == (
        ["g1"],
        "results are kept in memory alone; there is no folder for them; set XDG_STATE_HOME",
    )
    await history.close()
