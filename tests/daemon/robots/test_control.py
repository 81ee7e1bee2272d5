"""What follows when control of a robot is lost, with its real stream process on simulated actuators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from motiond.drivers.sim.command_log import read_trace
from tests.daemon.rig import Rig, comes_to_rest_softly
from tests.daemon.robots.stage import ok, reply_to

if TYPE_CHECKING:
    from motiond.daemon.robots.registry import RobotRegistry

pytestmark = pytest.mark.slow

LONG_S = 600.0
"""Longer than any test takes: a lease of this runs out only where a test lets it."""


@pytest.fixture
def rig(rig: Rig) -> Rig:
    rig.robot["lease"] = {"required": True, "ttl_s": LONG_S}
    return rig


async def start_long(rig: Rig, registry: RobotRegistry) -> tuple[str, str, str]:
    """Play the long motion as ana, with another one that waits; give her lease, and the goals."""
    lease = (await ok(registry, "lease/acquire", holder="ana"))["lease"]
    plays = await rig.swings(registry)
    waits = (await ok(registry, "play", motion="short", on_busy="queue", lease=lease))["goal_id"]
    return lease, plays, waits


def run_out(registry: RobotRegistry) -> None:
    """Let the time of the lease be over now."""
    registry.leases["arm"]._ends_s = 0.0


LOSSES = {
    "lease_lost": f"the lease of ana has run out; it was not renewed for {LONG_S:g} s",
    "lease_taken": "bob took control from ana",
}


@pytest.mark.parametrize("kind", LOSSES)
async def test_a_motion_stops_softly_when_control_is_lost_and_what_waits_does_not_begin(
    rig: Rig, kind: str
) -> None:
    why, taker = LOSSES[kind], "bob" if kind == "lease_taken" else None
    async with rig.running() as registry:
        lease, plays, waits = await start_long(rig, registry)
        taken = None if taker is None else await ok(registry, "lease/take", holder=taker)
        if taken is None:
            run_out(registry)
        result = await rig.rest_after(plays)
        assert (result["code"], result["message"]) == ("CANCELED", why)
        queued = await rig.result_of(waits)
        assert (queued["code"], queued["message"]) == ("CANCELED", f"{why}; it had not begun")
        event = await rig.until("event", lambda data: data["kind"] == kind)
        assert event == {"kind": kind, "message": why, "holder": "ana", "taker": taker}
        await rig.until("lease", lambda data: data["holder"] == taker, rig.place_of(event))
        refused = await reply_to(registry, "play", motion="short", lease=lease)
        assert (refused["code"], refused["data"]["holder"]) == ("NOT_IN_CONTROL", taker)
        if taken is not None:
            await ok(registry, "play", motion="short", lease=taken["lease"])
    assert comes_to_rest_softly(read_trace(rig.folder / "trace.npy")["position"])


async def test_a_loss_while_the_daemon_ends_keeps_no_robot_from_its_way_home(rig: Rig) -> None:
    rig.robot |= {"on_exit": "park", "poses": {"park": {"shoulder": 1.0}}}
    rig.robot["approach"]["velocity"] = 0.3  # it is still on its way when the loss is noticed
    async with rig.running() as registry:
        await rig.until_state("idle")
        lease = (await ok(registry, "lease/acquire", holder="ana"))["lease"]
        await ok(registry, "enable", lease=lease)
        registry.leave()
        await rig.until("state", lambda data: data["motion"] == "park")
        run_out(registry)
        await rig.until("event", lambda data: data["kind"] == "lease_lost")
        await rig.until("result", lambda data: data["motion"] == "park")
    assert rig.results() == ["SUCCESSFUL"]


async def test_where_no_control_is_required_everybody_commands_and_there_is_no_lease(rig: Rig) -> None:
    rig.robot["lease"] = {"required": False}
    async with rig.running() as registry:
        await rig.until_state("idle")
        for verb in ("acquire", "take", "renew", "release"):
            body = {"holder": "ana"} if verb in {"acquire", "take"} else {"lease": "x"}
            reply = await reply_to(registry, f"lease/{verb}", **body)
            reason = "everybody may command it; command it without, or set lease.required"
            assert reply["error"] == f"arm: there is no lease to have; {reason}"
            assert reply["code"] == "NOT_ALLOWED"
        accepted = await ok(registry, "play", motion="short", lease="x")
        assert (await rig.result_of(accepted["goal_id"]))["code"] == "SUCCESSFUL"
