"""Discovery messages by Home Assistant's schemas, and its commands by motiond's own.

The schema was transcribed from Home Assistant 2026.2.3.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2.sandbox import ImmutableSandboxedEnvironment

from motiond.daemon.api import RawRequest, parse
from motiond.daemon.config.mqtt import HomeAssistantSettings
from motiond.daemon.config.section import ConfigError
from motiond.daemon.config.settings import load_settings
from motiond.daemon.ipc.states import State
from motiond.daemon.mqtt.bridge.home_assistant import MOST_OUTDATED, HomeAssistant, discovery_topic
from motiond.daemon.mqtt.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Iterable

pytestmark = pytest.mark.slow

FILES = Path(__file__).parents[2] / "files"
SCHEMA = json.loads((FILES / "home_assistant" / "discovery-2026.2.3.schema.json").read_text(encoding="utf-8"))
TOPICS = Topics("motiond")
NAMES = ["nod", "wave", "a \"b\" 'c'", "}} {% raw %} {# ~ #}", "back\\slash", "größe 😀", "<&>", "None"]
ENVIRONMENT = ImmutableSandboxedEnvironment()


def discovery(
    motions: Iterable[str] = NAMES, base: str = "motiond", *, needs_lease: bool = False
) -> dict[str, Any]:
    home = HomeAssistant(HomeAssistantSettings(), Topics(base), "d1", ("arm",), lambda _: needs_lease)
    message: dict[str, Any] = json.loads(json.dumps(home.config("arm", motions)))
    return message


def component(key: str, motions: Iterable[str] = NAMES) -> dict[str, Any]:
    found: dict[str, Any] = discovery(motions)["components"][key]
    return found


def shown(key: str, payload: dict[str, Any], template: str = "value_template") -> str:
    """Return what Home Assistant makes of a report."""
    return ENVIRONMENT.from_string(component(key)[template]).render(value_json=payload)


def commanded(key: str, value: object) -> str:
    """Return what Home Assistant sends for a value that somebody has chosen."""
    return ENVIRONMENT.from_string(component(key)["command_template"]).render(value=value)


def asked_of(key: str, payload: str) -> tuple[str, dict[str, Any]]:
    """Return which verb a command is, with its keys as motiond's own schema reads them."""
    asked = TOPICS.request_of(component(key)["command_topic"])
    assert asked is not None
    assert asked.robot == "arm"
    request = parse(RawRequest(asked.robot, asked.verb, payload.encode()))
    return asked.verb, request.model_dump(exclude_unset=True)


# -- Home Assistant's schemas -------------------------------------------------------------------------------


@pytest.mark.parametrize("motions", [NAMES, [], ["nod"]])
@pytest.mark.parametrize("base", ["motiond", "plant_1/cell-2"])
def test_the_message_is_one_that_home_assistant_takes(motions: list[str], base: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(discovery(motions, base), SCHEMA)


def test_a_robot_has_all_that_it_is_commanded_and_seen_by() -> None:
    kinds = {key: one["platform"] for key, one in discovery()["components"].items()}
    buttons = dict.fromkeys(("stop", "estop", "pause", "resume", "reset"), "button")
    sensors = dict.fromkeys(("state", "progress", "temperature"), "sensor")
    sensors |= dict.fromkeys(("recording", "problem"), "binary_sensor")
    assert kinds == {"motion": "select", "speed": "number", "torque": "switch"} | buttons | sensors
    assert component("motion")["options"] == NAMES
    identities = [entity["unique_id"] for entity in discovery()["components"].values()]
    assert len(set(identities)) == len(identities)


def test_a_robot_that_needs_a_lease_is_stopped_and_seen_and_not_offered_what_would_be_refused() -> None:
    whole, leased = discovery()["components"], discovery(needs_lease=True)
    jsonschema.validate(leased, SCHEMA)
    kept = {key: one for key, one in whole.items() if "command_topic" not in one or key in ("stop", "estop")}
    assert set(kept) == {"stop", "estop", "state", "progress", "temperature", "recording", "problem"}
    assert leased["components"] == kept


# -- what is commanded --------------------------------------------------------------------------------------


@given(st.sampled_from(NAMES) | st.text(min_size=1, max_size=50).filter(lambda name: name.isprintable()))
def test_any_name_of_a_motion_can_be_chosen_and_is_shown(name: str) -> None:
    assert asked_of("motion", commanded("motion", name)) == ("play", {"motion": name, "on_busy": "replace"})
    template = component("motion", ["nod", name])["value_template"]
    assert ENVIRONMENT.from_string(template).render(value_json={"motion": name}) == name


@pytest.mark.parametrize("speed", [0.1, 1, 1.5, 10])
def test_a_speed_that_is_set_is_the_speed(speed: float) -> None:
    number = component("speed")
    assert number["min"] <= speed <= number["max"]
    assert asked_of("speed", commanded("speed", speed)) == ("speed", {"speed": speed})


@pytest.mark.parametrize(
    ("key", "payload", "request_"),
    [
        ("torque", "payload_on", {"on": True}),
        ("torque", "payload_off", {"on": False}),
        *((verb, "payload_press", {}) for verb in ("stop", "estop", "pause", "resume", "reset")),
    ],
)
def test_a_switch_or_button_sends_its_verb(key: str, payload: str, request_: dict[str, Any]) -> None:
    assert "command_template" not in component(key)
    assert asked_of(key, component(key)[payload]) == (key, request_)


# -- what is shown ------------------------------------------------------------------------------------------

IDLE = {"state": "idle", "torque": False, "message": "", "motion": None}
PLAYING = IDLE | {"state": "playing", "torque": True, "motion": "wave", "progress": 0.4567, "speed": 1.5}


@pytest.mark.parametrize(
    ("key", "payload", "text"),
    [
        ("motion", PLAYING, "wave"),
        ("motion", IDLE, "None"),
        ("motion", PLAYING | {"motion": "park"}, "None"),
        ("speed", PLAYING, "1.5"),
        ("speed", IDLE, "None"),
        ("torque", PLAYING, "ON"),
        ("torque", IDLE, "OFF"),
        ("state", PLAYING, "playing"),
        ("progress", PLAYING, "45.7"),
        ("progress", IDLE, "None"),
        ("problem", PLAYING, "OFF"),
        ("problem", IDLE | {"state": "fault"}, "ON"),
        ("problem", IDLE | {"state": "estopped"}, "ON"),
        ("temperature", {"temperature_c": [25.0, None, 31.26]}, "31.3"),
        ("temperature", {"temperature_c": [None]}, "None"),
        ("temperature", {"temperature_c": []}, "None"),
    ],
)
def test_a_report_is_shown(key: str, payload: dict[str, Any], text: str) -> None:
    assert shown(key, payload) == text


def test_why_there_is_a_problem_is_shown() -> None:
    text = shown("problem", IDLE | {"message": 'the "bus"; lost'}, "json_attributes_template")
    assert json.loads(text) == {"message": 'the "bus"; lost'}


def test_every_state_can_be_shown() -> None:
    assert component("state")["options"] == [str(state) for state in State]


@pytest.mark.parametrize(
    ("state", "word"), [("online", "online"), ("offline", "offline"), ("broken", "offline")]
)
def test_the_robot_is_available_where_it_and_its_daemon_are_online(state: str, word: str) -> None:
    message = discovery()
    assert message["availability_mode"] == "all"
    topics = [entry["topic"] for entry in message["availability"]]
    assert topics == ["motiond/bridge/d1/availability", "motiond/arm/availability"]
    for entry in message["availability"]:
        assert ENVIRONMENT.from_string(entry["value_template"]).render(value_json={"state": state}) == word


# -- what was published before ------------------------------------------------------------------------------

OURS = "homeassistant/device/motiond_arm/config"


@pytest.mark.parametrize(
    ("published", "believed"),
    [
        (OURS, OURS),
        ("other/prefix/device/motiond_arm/config", "other/prefix/device/motiond_arm/config"),
        ("homeassistant/device/motiond_hand/config", None),
        ("motiond/device/motiond_arm/config", None),
        ("motiond/arm/state", None),
        ("#/device/motiond_arm/config", None),
        ("$SYS/device/motiond_arm/config", None),
        ("/device/motiond_arm/config", None),
        (f"{'x' * 1000}/device/motiond_arm/config", None),
        (3, None),
        (None, None),
    ],
)
def test_only_a_discovery_topic_of_the_robot_itself_is_cleared(
    published: object, believed: str | None
) -> None:
    assert discovery_topic(TOPICS, "arm", {"discovery": published}) == believed


def test_strangers_cannot_fill_the_memory_with_robots_to_be_cleared() -> None:
    home = HomeAssistant(HomeAssistantSettings(), TOPICS, "d1", ("arm",), lambda _: False)
    for number in range(2 * MOST_OUTDATED):
        published = f"other/device/motiond_r{number}/config"
        home.take(f"r{number}", {"bridge": "d1", "discovery": published})
    outdated = [number for number in range(2 * MOST_OUTDATED) if home.outdated(f"r{number}")]
    assert outdated == [*range(MOST_OUTDATED)]


# -- the configuration --------------------------------------------------------------------------------------


NO_TOPIC = "cannot begin a topic on every broker; letters, digits, _ and - can, with / between; rename it"


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("{prefix: 'home assistant'}", f"'home assistant' {NO_TOPIC}"),
        ("{status_topic: 'homeassistant/#'}", f"'homeassistant/#' {NO_TOPIC}"),
        (
            "{prefix: motiond/ha}",
            (
                "'motiond/ha' lies below mqtt.base, 'motiond'; "
                "a robot's topics would be mistaken for it; rename one of them"
            ),
        ),
        (
            "{discovery_prefix: ha}",
            "unknown key 'discovery_prefix'; mqtt.home_assistant knows prefix, status_topic",
        ),
    ],
)
def test_a_section_that_makes_no_sense_is_refused(tmp_path: Path, section: str, message: str) -> None:
    file = tmp_path / "arm.yaml"
    arm = "robots: {arm: {driver: {type: sim}, joints: {a: {limits: {lower: -1, upper: 1, velocity: 1}}}}}\n"
    file.write_text(f"{arm}mqtt: {{home_assistant: {section}}}\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(file)
    assert str(caught.value).startswith(f"{file}:2: {message}")
