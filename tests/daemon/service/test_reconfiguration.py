"""Behaviour of a daemon whose configuration is read again while robots run."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import pytest

from motiond.daemon.api import EstopRequest, ReportHub, RequestError
from motiond.daemon.config.settings import load_settings
from motiond.daemon.ipc.control import Refused
from motiond.daemon.robots.assembly import Assembly
from motiond.daemon.service.reconfiguration import Reconfiguration
from tests.daemon.rig import JOINTS, RATE_HZ, Rig, ask, make_clock, stream_forks, sweep, write_seq
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection
    from pathlib import Path

    from motiond.daemon.mqtt.bridge import MqttBridge
    from motiond.daemon.robots.registry import RobotRegistry
    from motiond.daemon.robots.robot import Robot

pytestmark = pytest.mark.slow

LEASE = {"required": True, "ttl_s": 3600.0}
TO_CHANGE = "moves, and is left alone; it is changed as the configuration says once it rests"
LATCHED = "its emergency stop is latched; it is taken out once it is reset"
KEPT_OUT = "arm still has its actuators; it is added once arm has left them"


class Bridge:
    """Stands in for MQTT: notes who came and went."""

    def __init__(self) -> None:
        self.told: list[tuple[str, ...]] = []

    async def take_in(self, robots: Collection[str]) -> None:
        self.told += [("in", robot) for robot in robots]

    async def let_go(self, robot: str) -> None:
        self.told.append(("out", robot))


@dataclass
class Running:
    """A daemon without MQTT whose configuration can be read again."""

    rig: Rig
    registry: RobotRegistry
    change: Reconfiguration
    hub: ReportHub
    bridge: Bridge = field(default_factory=Bridge)

    def robot(self, name: str = "arm") -> Robot:
        return self.registry.members[name].robot

    async def reload(self) -> dict[str, Any]:
        """Read the configuration as the rig has it now."""
        assert self.rig.config.is_file()
        async with asyncio.timeout(PATIENCE_S):
            told = await self.change.reload()
        return {kind: robots for kind, robots in told.items() if robots and kind not in {"motions", "broker"}}

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not holds():  # noqa: ASYNC110 - it holds by what other processes do as well
                await asyncio.sleep(0.005)

    async def until_idle(self, name: str = "arm") -> None:
        await self.until(lambda: name in self.registry.members and self.robot(name).session.state == "idle")


@asynccontextmanager
async def running(rig: Rig) -> AsyncIterator[Running]:
    hub, bridge = ReportHub(), Bridge()
    settings = load_settings(rig.config)
    with stream_forks() as rig.forks:
        assembly = Assembly(hub, rig.forks, make_clock())
        registry = assembly.registry(settings)
        change = Reconfiguration(
            rig.config,
            settings,
            assembly=assembly,
            robots=registry,
            bridge=cast("MqttBridge", bridge),
            hub=hub,
            renew_certificate=lambda: None,
        )
        async with rig.running_on(registry, hub):
            changing = asyncio.create_task(change.run())
            here = Running(rig, registry, change, hub, bridge)
            try:
                for name in registry.robots:
                    await here.until_idle(name)
                yield here
            finally:
                changing.cancel()
                await asyncio.wait((changing,), timeout=PATIENCE_S)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    del rig.driver["trace"]
    return rig


def another(rig: Rig, **changed: Any) -> dict[str, Any]:
    """Return the settings of a robot beside the rig's own."""
    return {**rig.robot, "driver": {"type": "sim"}, **changed}


async def test_robots_come_and_go_and_those_that_are_as_before_are_left_alone(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    rig.others = {"hand": another(rig)}
    async with running(rig) as daemon:
        arm = daemon.robot("arm").stream.pid
        rig.others = {"leg": another(rig)}
        assert await daemon.reload() == {"added": ["leg"], "removed": ["hand"]}
        assert daemon.registry.robots == ("arm", "leg")
        assert sorted(daemon.registry.models) == sorted(daemon.registry.reservations) == ["arm", "leg"]
        assert daemon.bridge.told == [("out", "hand"), ("in", "leg")]
        await daemon.until_idle("leg")
        assert daemon.robot("arm").stream.pid == arm
        assert {report.robot for report in daemon.hub.latest()} == {"arm", "leg"}
        with pytest.raises(RequestError, match="no robot 'hand'; there are arm, leg"):
            await daemon.registry.handle("hand", "status", cast("Any", None))
    assert [line for line in caplog.messages if "configuration" in line] == [
        "hand: taken out, as the configuration does not name it any more",
        "leg: added, as the configuration names it now",
    ]


async def test_a_robot_that_moves_is_left_alone_until_it_rests(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    rig.others = {"hand": another(rig)}
    async with running(rig) as daemon:
        before = daemon.robot().stream.pid
        goal = await ask(daemon.registry, "play", motion="long")
        rig.robot |= {"stop_duration_s": 0.3}
        rig.others = {}
        assert await daemon.reload() == {"removed": ["hand"], "waiting": {"arm": TO_CHANGE}}
        await asyncio.sleep(0.3)
        assert daemon.robot().session.goal is not None, "it still plays"
        assert daemon.robot().stream.pid == before
        assert daemon.robot().settings.stop_duration_s == 0.2
        await ask(daemon.registry, "stop")
        assert (await rig.result_of(goal["goal_id"]))["code"] == "CANCELED"
        await daemon.until(lambda: daemon.robot().settings.stop_duration_s == 0.3)
        await daemon.until_idle()
        assert daemon.robot().stream.pid != before
    told = [line for line in caplog.messages if "configuration says" in line]
    assert told == [
        "arm: moves, and is left alone; it is changed as the configuration says once it rests",
        "arm: changed as the configuration says",
    ]


async def test_a_robot_that_moves_is_taken_out_only_once_it_rests(rig: Rig) -> None:
    rig.others = {"hand": another(rig)}
    async with running(rig) as daemon:
        play = {"motion": "long"}
        await daemon.registry.handle("hand", "play", _request("play", **play))
        rig.others = {}
        assert await daemon.reload() == {
            "waiting": {"hand": "moves, and is left alone; it is taken out once it rests"}
        }
        assert daemon.registry.robots == ("arm", "hand")
        await daemon.registry.handle("hand", "stop", _request("stop"))
        await daemon.until(lambda: daemon.registry.robots == ("arm",))
        await daemon.until(lambda: daemon.bridge.told == [("out", "hand")])


async def test_what_is_written_back_before_a_robot_rests_changes_nothing(rig: Rig) -> None:
    async with running(rig) as daemon:
        before = daemon.robot().stream.pid
        await ask(daemon.registry, "play", motion="long")
        rig.robot |= {"stop_duration_s": 0.3}
        assert await daemon.reload() == {"waiting": {"arm": TO_CHANGE}}
        rig.robot |= {"stop_duration_s": 0.2}
        assert await daemon.reload() == {}
        await ask(daemon.registry, "stop")
        await daemon.until_idle()
        await asyncio.sleep(0.3)
        assert daemon.robot().stream.pid == before


async def test_a_wrong_configuration_changes_nothing_and_says_all_that_is_wrong(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(rig) as daemon:
        before = daemon.robot().stream.pid
        rig.others = {"hand": another(rig, on_ende="park"), "leg": another(rig, idle_rate_hz=-3)}
        config = rig.config
        with pytest.raises(Refused) as refused:
            await daemon.reload()
        lines = str(refused.value).splitlines()
        assert [line.partition("; ")[0].split(" ", 1)[1] for line in lines] == [
            "unknown key 'on_ende'",
            "robots.leg.idle_rate_hz is -3",
        ]
        assert all(line.startswith(f"{config}:") for line in lines)
        assert caplog.messages[-1] == (
            f"{config}: the configuration is not taken; nothing has changed; correct it and reload\n"
            f"{refused.value}"
        )
        assert (daemon.registry.robots, daemon.bridge.told) == (("arm",), [])
        assert daemon.robot().stream.pid == before


async def test_a_robot_that_cannot_be_made_changes_nothing(rig: Rig) -> None:
    async with running(rig) as daemon:
        rig.others = {"hand": {**rig.robot}}
        with pytest.raises(Refused) as refused:
            await daemon.reload()
        assert str(refused.value) == (
            f"robots arm and hand: both drive plant:{rig.folder}/plant.bin; one device has one master; "
            "leave it to one of them"
        )
        assert daemon.registry.robots == ("arm",)


async def test_what_cannot_change_while_the_daemon_runs_is_named_and_the_rest_is_taken(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.daemon = {"id": "one"}
    async with running(rig) as daemon:
        rig.daemon = {
            "id": "two",
            "mqtt": {"broker": "mqtt://elsewhere", "telemetry_hz": 5.0},
            "max_clock_error_s": 0.5,
            "http": {"listen": "127.0.0.1:8099"},
        }
        rig.robot |= {"stop_duration_s": 0.3}
        restart = ["id", "mqtt.broker", "mqtt.telemetry_hz", "http", "max_clock_error_s"]
        assert await daemon.reload() == {"changed": ["arm"], "restart": restart}
        assert caplog.messages[-1] == (
            "the configuration was read again; id, mqtt.broker, mqtt.telemetry_hz, http, "
            "max_clock_error_s cannot change while the daemon runs; restart it"
        )
        assert await daemon.reload() == {"restart": restart}, "and is not forgotten"


async def test_a_robot_that_held_holds_again_where_it_stands(rig: Rig) -> None:
    rig.robot |= {"on_exit": "park", "poses": {"park": {"shoulder": 1.0}}}
    async with running(rig) as daemon:
        goal = await ask(daemon.registry, "goto", joints={"shoulder": 0.4, "elbow": 0.3})
        await rig.rest_after(goal["goal_id"])
        rig.robot |= {"stop_duration_s": 0.3}
        assert await daemon.reload() == {"changed": ["arm"]}
        await daemon.until_idle()
        await daemon.until(lambda: daemon.robot().session.known.torque)
        assert daemon.robot().session.known.reference == pytest.approx([0.4, 0.3], abs=0.01)
    assert not [one for one in rig.reports if one.subject == "result" and one.data["motion"] == "park"][:-1]


async def test_a_robot_that_did_not_hold_does_not_after_a_change_either(rig: Rig) -> None:
    async with running(rig) as daemon:
        rig.robot |= {"stop_duration_s": 0.3}
        assert await daemon.reload() == {"changed": ["arm"]}
        await daemon.until_idle()
        await asyncio.sleep(0.2)
        assert not daemon.robot().session.known.torque


async def test_torque_is_not_switched_on_at_other_actuators(rig: Rig) -> None:
    async with running(rig) as daemon:
        await ask(daemon.registry, "enable")
        rig.driver["plant"] = "another.bin"
        assert await daemon.reload() == {"changed": ["arm"]}
        await daemon.until_idle()
        await asyncio.sleep(0.2)
        assert not daemon.robot().session.known.torque


async def test_an_emergency_stop_stays_latched(rig: Rig) -> None:
    async with running(rig) as daemon:
        await ask(daemon.registry, "enable")
        await ask(daemon.registry, "estop")
        rig.robot |= {"stop_duration_s": 0.3}
        assert await daemon.reload() == {"changed": ["arm"]}
        await daemon.until(lambda: daemon.robot().session.state == "estopped")
        with pytest.raises(RequestError) as refused:
            await ask(daemon.registry, "play", motion="short")
        assert refused.value.code == "ESTOPPED"


def rename(rig: Rig, old: str, new: str) -> None:
    text = rig.config.read_text()
    assert f"  {old}:" in text
    (rig.folder / "motiond.yaml").write_text(text.replace(f"  {old}:", f"  {new}:"))


@pytest.mark.parametrize("plant", ["plant.bin", None])
async def test_a_robot_whose_emergency_stop_is_latched_keeps_its_actuators_until_it_is_reset(
    rig: Rig, plant: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    rig.driver["plant"] = plant
    async with running(rig) as daemon:
        await ask(daemon.registry, "enable")
        await ask(daemon.registry, "estop")
        rename(rig, "arm", "bot")
        told = await daemon.change.reload()
        assert told["waiting"] == {"arm": LATCHED, "bot": KEPT_OUT}
        assert (told["added"], told["removed"]) == ([], [])
        await asyncio.sleep(0.3)
        assert daemon.registry.robots == ("arm",)
        assert daemon.robot().session.state == "estopped"
        await ask(daemon.registry, "reset")
        await daemon.until_idle("bot")
        assert daemon.registry.robots == ("bot",)
    assert [line for line in caplog.messages if line.partition(": ")[2] in {LATCHED, KEPT_OUT}] == [
        f"arm: {LATCHED}",
        f"bot: {KEPT_OUT}",
    ]


async def test_a_robot_that_is_halted_while_it_waits_to_be_taken_out_waits_for_its_reset(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with running(rig) as daemon:
        await ask(daemon.registry, "play", motion="long")
        rename(rig, "arm", "bot")
        told = await daemon.change.reload()
        assert told["waiting"] == {
            "arm": "moves, and is left alone; it is taken out once it rests",
            "bot": KEPT_OUT,
        }
        await ask(daemon.registry, "estop")
        await daemon.until(lambda: f"arm: {LATCHED}" in caplog.messages)
        await asyncio.sleep(0.3)
        assert daemon.registry.robots == ("arm",)
        assert daemon.robot().session.state == "estopped"


async def test_actuators_are_not_exchanged_beneath_a_latched_emergency_stop(rig: Rig) -> None:
    rig.others = {"hand": another(rig)}
    async with running(rig) as daemon:
        await ask(daemon.registry, "estop")
        text = rig.config.read_text()
        swapped = text.replace("  arm:", "  HAND:").replace("  hand:", "  arm:").replace("  HAND:", "  hand:")
        (rig.folder / "motiond.yaml").write_text(swapped)
        told = await daemon.change.reload()
        becomes = "changed as the configuration says once"
        assert told["waiting"] == {
            "arm": f"its emergency stop is latched; it is {becomes} it is reset",
            "hand": f"arm still has its actuators; it is {becomes} arm has left them",
        }
        await ask(daemon.registry, "reset")
        await daemon.until(lambda: "plant" in daemon.robot("hand").settings.driver.options)
        await daemon.until_idle("hand")


async def test_a_robot_that_keeps_its_actuators_waits_for_nobody_else_s(rig: Rig) -> None:
    """Two simulated robots alike share nothing: a narrower limit of one comes at once."""
    del rig.driver["plant"]
    rig.others = {"hand": another(rig, driver=dict(rig.driver))}
    async with running(rig) as daemon:
        await daemon.registry.handle("hand", "estop", EstopRequest())
        del rig.others["hand"]
        rig.robot["joints"]["elbow"] = {"limits": rig.robot["joints"]["elbow"]["limits"] | {"upper": 1.65}}
        assert await daemon.reload() == {"changed": ["arm"], "waiting": {"hand": LATCHED}}


async def test_an_emergency_stop_on_the_way_home_of_a_robot_that_is_taken_out_stays_latched(rig: Rig) -> None:
    rig.robot |= {"on_exit": "park", "poses": {"park": {"shoulder": 1.9}}, "exit_timeout_s": 60.0}
    rig.robot["approach"] = {"velocity": 0.1, "acceleration": 1.0, "jerk": 10.0}
    async with running(rig) as daemon:
        await ask(daemon.registry, "enable")
        rename(rig, "arm", "bot")
        reading = asyncio.create_task(daemon.change.reload())
        await daemon.until(lambda: daemon.robot().session.goal is not None)
        await ask(daemon.registry, "estop")
        told = await asyncio.wait_for(reading, PATIENCE_S)
        assert told["waiting"] == {"arm": LATCHED, "bot": KEPT_OUT}
        assert (told["added"], told["removed"]) == ([], [])
        await daemon.until(lambda: daemon.robot().session.state == "estopped")


async def test_an_emergency_stop_while_a_robot_is_changed_stays_latched(rig: Rig) -> None:
    async with running(rig) as daemon:
        rig.robot |= {"stop_duration_s": 0.3}
        former = daemon.robot()
        assert rig.config.is_file()
        reading = asyncio.create_task(daemon.change.reload())
        await daemon.until(lambda: former.leaving)
        await ask(daemon.registry, "estop")
        told = await asyncio.wait_for(reading, PATIENCE_S)
        assert told["changed"] == ["arm"]
        await daemon.until(lambda: daemon.robot().session.state == "estopped")


async def test_who_was_in_control_stays_so(rig: Rig) -> None:
    rig.robot["lease"] = LEASE
    async with running(rig) as daemon:
        lease = (await ask(daemon.registry, "lease/acquire", holder="me"))["lease"]
        rig.robot |= {"stop_duration_s": 0.3}
        assert await daemon.reload() == {"changed": ["arm"]}
        daemon.registry.leases["arm"].admit("arm/play", lease)


async def test_a_description_that_was_edited_changes_its_robot(rig: Rig) -> None:
    model = rig.folder / "arm.hrdf"
    text = (
        '<robot version="1.2.0"><actuator type="X5-4"/><link type="X5" extension="0.3" twist="0"/>'
        '<actuator type="X5-4"/><link type="X5" extension="0.2" twist="0"/></robot>'
    )
    model.write_text(text)
    rig.robot |= {"model": {"file": "arm.hrdf", "joint_names": list(JOINTS)}}
    async with running(rig) as daemon:
        assert await daemon.reload() == {}
        model.write_text(text.replace("0.3", "0.4"))
        assert await daemon.reload() == {"changed": ["arm"]}
        await daemon.until_idle()


async def test_motions_are_read_again_with_the_configuration(rig: Rig) -> None:
    async with running(rig) as daemon:
        write_seq(rig.folder / "motions" / "new.seq", sweep(0.5), JOINTS, RATE_HZ)
        told = await daemon.change.reload()
        assert [one["name"] for one in told["motions"]["arm"]["motions"]] == ["long", "new", "short"]


async def test_the_only_robot_may_be_exchanged_for_another(rig: Rig) -> None:
    async with running(rig) as daemon:
        text = rig.config.read_text().replace("  arm:", "  leg:")
        (rig.folder / "motiond.yaml").write_text(text)
        told = await daemon.change.reload()
        assert (told["added"], told["removed"]) == (["leg"], ["arm"])
        await daemon.until_idle("leg")


async def test_a_daemon_that_leaves_adds_nobody(rig: Rig) -> None:
    async with running(rig) as daemon:
        rig.others = {"leg": another(rig)}
        assert rig.config.is_file()
        reading = asyncio.create_task(daemon.change.reload())
        await asyncio.sleep(0)
        daemon.registry.leave()
        await asyncio.wait_for(reading, PATIENCE_S)
        if "leg" in daemon.registry.members:
            assert daemon.robot("leg").stream.pid is None


def _request(verb: str, **values: Any) -> Any:
    from motiond.daemon.api import VERBS  # noqa: PLC0415

    return VERBS[verb].request.model_validate(values)
