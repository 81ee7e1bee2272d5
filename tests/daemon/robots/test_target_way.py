"""The way of targets to a stream process that may be busy, on virtual time."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from motiond.daemon.ipc.messages import Chunk, Target
from motiond.daemon.robots.process import TargetWay
from motiond.daemon.robots.process.target_way import SHORTEST_S

FIRST = Target("g1", [0.1, 0.2], None, None, 0.0)


class Process:
    """A stream process that takes targets, or has no room."""

    def __init__(self) -> None:
        self.has_room = True
        self.taken: list[tuple[float, Target | Chunk]] = []
        self.way = TargetWay(self.send)

    def send(self, target: Target | Chunk) -> bool:
        if self.has_room:
            self.taken.append((round(asyncio.get_running_loop().time(), 6), target))
        return self.has_room

    @property
    def targets(self) -> list[Target | Chunk]:
        return [target for _, target in self.taken]


async def test_a_target_is_sent_at_once_and_the_next_after_a_millisecond() -> None:
    process, begin_s = Process(), asyncio.get_running_loop().time()
    assert not process.way.put(FIRST)
    assert process.targets == [FIRST]
    second = replace(FIRST, positions=[0.3, 0.4])
    assert not process.way.put(second)
    await asyncio.sleep(0.01)
    assert process.taken == [(round(begin_s, 6), FIRST), (round(begin_s + SHORTEST_S, 6), second)]
    third = replace(FIRST, positions=[0.5, 0.6])
    assert not process.way.put(third)
    assert process.targets == [FIRST, second, third]


async def test_while_there_is_no_room_the_newest_waits_with_what_it_leaves_as_it_is() -> None:
    process = Process()
    process.has_room = False
    waiting: list[list[float | None]] = [[0.1, 0.2], [0.3, None], [None, 0.5]]
    gave_way = [process.way.put(replace(FIRST, positions=positions)) for positions in waiting]
    assert gave_way == [False, True, True]
    await asyncio.sleep(0.5)
    process.has_room = True
    await asyncio.sleep(0.01)
    assert process.targets == [replace(FIRST, positions=[0.3, 0.5])]


async def test_what_was_sent_before_what_waits_gives_way_to_it() -> None:
    process = Process()
    process.has_room = False
    newest = replace(FIRST, sent_at=5.0)
    older = (
        replace(FIRST, positions=[0.9, 0.9], sent_at=4.9),
        Chunk("g1", None, 4.8, 0.0),
    )
    assert [process.way.put(target) for target in (newest, *older)] == [False, True, True]
    process.has_room = True
    await asyncio.sleep(0.01)
    assert process.targets == [newest]


async def test_a_chunk_and_a_target_of_another_follow_replace_what_waits() -> None:
    process = Process()
    chunk = Chunk("g1", None, None, 0.0)
    for newest in (chunk, replace(FIRST, goal_id="g2", positions=[None, 0.1])):
        process.has_room = False
        process.way.put(FIRST)
        process.way.put(newest)
        process.has_room = True
        await asyncio.sleep(0.01)
        assert process.targets[-1] == newest
