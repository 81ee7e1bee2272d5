from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from motiond.daemon.config.section import ConfigError
from motiond.daemon.config.settings import json_schema, load_settings

ROOT = Path(__file__).parents[3]
FILES = ROOT / "tests" / "files"
ARM = "robots: {arm: {driver: {type: sim}, joints: {a: {limits: {lower: -1, upper: 1, velocity: 1}}}}}\n"


def refusal(tmp_path: Path, text: str) -> str:
    file = tmp_path / "arm.yaml"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError) as caught:
        load_settings(file)
    return str(caught.value).replace(f"{tmp_path}/", "")


def names_in(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return set().union(*map(names_in, schema))
    if not isinstance(schema, dict):
        return set()
    return set(schema.get("properties", {})).union(*map(names_in, schema.values()))


def test_the_demo_is_a_valid_configuration() -> None:
    settings = load_settings(ROOT / "config" / "demo.yaml")
    arm = settings.robots["arm"]
    assert settings.mqtt.broker == "embedded"
    assert arm.model is not None
    assert arm.model.file == ROOT / "config" / "robots" / "six_axis.hrdf"
    assert arm.motions == [ROOT / "config" / "motions"]
    assert settings.folders_for(arm.model) == (ROOT / "config" / "robots",)


@pytest.mark.parametrize("page", ["config/demo.yaml", "docs/configuration.md"])
def test_the_demo_and_the_page_mention_every_option(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert {
        name for name in names_in(json_schema()) if not re.search(rf"(\b{name}:|`{name}`)", text)
    } == set()


def test_the_schema_for_editors_is_that_of_the_settings() -> None:
    stored = (ROOT / "config" / "schema.json").read_text(encoding="utf-8")
    assert json.loads(stored) == json_schema(), "run scripts/make_config_schema.py"


def test_every_mistake_is_told_at_once_with_its_line() -> None:
    file = FILES / "bad" / "config_mistakes.yaml"
    with pytest.raises(ConfigError) as caught:
        load_settings(file)
    expected = (FILES / "bad" / "config_mistakes.txt").read_text(encoding="utf-8")
    assert str(caught.value).replace(str(file), "bad.yaml") == expected.rstrip("\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "arm.yaml:1: 'robots' is missing; the file needs it; add it"),
        (
            "- arm",
            "arm.yaml:1: the file is of the wrong kind; it must be a mapping; write `key: value` under it",
        ),
        ("robots: {}", "arm.yaml:1: robots is empty; it needs at least one entry; add one"),
        (
            "robots: [",
            (
                "arm.yaml:2: not valid YAML; while parsing a flow node did not find expected node content; "
                "is the file complete?"
            ),
        ),
        (
            "robots: {arm: {motions: [a.seq] driver: {type: sim}}}",
            "arm.yaml:1: not valid YAML; a comma is missing before this place, or a bracket after it; add it",
        ),
        (
            "robots:\n  -\n  name: arm\n    clock: real\n",
            (
                "arm.yaml:3: not valid YAML; the line is indented differently than those it belongs to; "
                "indent the keys of an item deeper than its dash"
            ),
        ),
        (
            "robots: {arm: {motions: [a.seq,, b.seq]}}",
            (
                "arm.yaml:1: not valid YAML; a comma stands where a value is expected; "
                "add the value before it, or remove the comma"
            ),
        ),
        (
            "robots:\n\tarm: 1",
            "arm.yaml:2: not valid YAML; a tab stands in the indentation; indent with blanks",
        ),
        (
            "robots:\n  arm:\n    driver: {type: sim}\n   clock: real",
            (
                "arm.yaml:4: not valid YAML; the line is indented differently than those it belongs to; "
                "align the keys of a mapping and the dashes of a list"
            ),
        ),
        (
            "id: arm\n  robots: 1",
            (
                "arm.yaml:2: not valid YAML; a key stands where none may: it is indented too far, or it is "
                "the second on its line; correct the indentation, or put a text with a colon in quotes"
            ),
        ),
        (
            "robots: !!python/none x",
            (
                "arm.yaml:1: not valid YAML; "
                "could not determine a constructor for the tag 'tag:yaml.org,2002:python/none'"
            ),
        ),
        ("robots: " + "[" * 100_000, "arm.yaml:1: nests too deeply; 64 levels do; flatten it"),
        (
            "id: \0",
            "arm.yaml:1: not valid YAML; control characters are not allowed; remove the character",
        ),
        (
            "robots: {arm: {driver: {type: sim}}}",
            "arm.yaml:1: the robot has no joints; there is no model either; add model or joints",
        ),
        (
            "robots: {arm: {driver: {type: sim}, joints: {a: {limits: {upper: 1, lower: 0}}}}}",
            "arm.yaml:1: joint 'a' lacks limits (velocity); there is no model to take them from; set them",
        ),
        (
            ARM + "mqtt:\n  broker: mqtt://host\n  listen: 127.0.0.1:1883",
            "arm.yaml:4: 'listen' has no effect; only the embedded broker listens; remove it",
        ),
        (
            ARM + "mqtt:\n  username: arm",
            "arm.yaml:3: 'username' stands alone; a login needs name and password; add password_file",
        ),
        (
            ARM + "mqtt: {broker: mqtt://host,\n  ca_file: ca.pem}",
            "arm.yaml:3: 'ca_file' has no effect; mqtt:// does not encrypt; mqtts:// does; remove it",
        ),
        (
            ARM + "mqtt: {broker: mqtts://host, key_file: key.pem}",
            "arm.yaml:2: 'key_file' stands alone; a certificate needs its key; add cert_file",
        ),
        (
            "robots: {arm: {driver: {type: sim}, model: {file: arm.hrdf, joint_names: [a, b, a]}}}",
            "arm.yaml:1: 'a' stands twice; a joint has a name of its own; rename one",
        ),
        (
            ARM + "mqtt: {protocol: 5}",
            "arm.yaml:2: 'protocol' has no effect; the embedded broker speaks 3.1.1 only; remove it",
        ),
        (
            ARM + "mqtt: {reconnect_min_s: 60}",
            "arm.yaml:2: reconnect_min_s of 60 is more than reconnect_max_s, 30; make it the smaller one",
        ),
        (
            ARM.replace("driver", "idle_rate_hz: 1.5, driver"),
            (
                "arm.yaml:1: idle_rate_hz is 1.5; a process without a tick for 1 s (stream_timeout_s) is "
                "killed; make it 4 or more, or raise that"
            ),
        ),
        (
            ARM.replace("driver", "motion_joints: [a, a], driver"),
            "arm.yaml:1: 'a' stands twice; a joint has one column; remove one",
        ),
        (
            ARM.replace("driver", "lease: {takeover: false, ttl_s: 2.0}, driver"),
            (
                "arm.yaml:1: ttl_s has no effect; nobody needs a lease where required is not set; "
                "add required: true"
            ),
        ),
        (
            ARM.replace("driver", "lease: {required: true, ttl_s: 0.1}, driver"),
            (
                "arm.yaml:1: robots.arm.lease.ttl_s is 0.1; it must be greater than or equal to 0.5; "
                "correct it"
            ),
        ),
        (
            ARM.replace("driver", "motions: [waves, {path: up, upload: true}], driver"),
            (
                "arm.yaml:1: 'folder' is missing; robots.arm.motions.1 needs it; add it\n"
                "arm.yaml:1: unknown key 'path'; robots.arm.motions.1 knows folder, upload, watch; "
                "did you mean 'watch'?"
            ),
        ),
        (
            ARM.replace("driver", "motions: [5], driver"),
            "arm.yaml:1: robots.arm.motions.0 is 5; it must be a mapping; write `key: value` under it",
        ),
        (
            ARM + "realtime: {priority: 100}",
            "arm.yaml:2: realtime.priority is 100; it must be less than or equal to 99; correct it",
        ),
    ],
)
def test_a_mistake_is_told_where_it_stands(tmp_path: Path, text: str, message: str) -> None:
    assert refusal(tmp_path, text) == message


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(tmp_path / "no.yaml")
    assert str(caught.value) == f"{tmp_path}/no.yaml: cannot be read; no such file; check the path"


def test_an_alias_within_itself_ends_in_an_error(tmp_path: Path) -> None:
    message = "arm.yaml:1: *all repeats what it stands in; that never ends; write it out"
    assert refusal(tmp_path, "robots: &all {arm: *all}") == message


def test_relative_paths_belong_to_the_files_folder(tmp_path: Path) -> None:
    file = tmp_path / "arm.yaml"
    file.write_text(
        ARM.replace("type: sim", "type: sim, trace: out/trace.npy") + "model_folders: [parts, /opt]\n"
    )
    settings = load_settings(file)
    assert settings.model_folders == [tmp_path / "parts", Path("/opt")]
    assert settings.robots["arm"].driver.options == {"trace": tmp_path / "out" / "trace.npy"}


def test_numbers_are_those_of_yaml_1_2(tmp_path: Path) -> None:
    file = tmp_path / "arm.yaml"
    file.write_text(ARM.replace("driver", "start_tolerance: 1e-3, driver"))
    assert load_settings(file).robots["arm"].start_tolerance == 0.001


MOVES = "joints: {a: {limits: {lower: -1, upper: 1, velocity: 1}}}, driver: {type: sim}"
AT_LEAST, AT_MOST = "greater than or equal to", "less than or equal to"


@pytest.mark.parametrize(
    ("option", "least", "most"),
    [
        ("approach.velocity", 1e-5, 1e5),
        ("approach.acceleration", 1e-5, 1e7),
        ("approach.jerk", 1e-5, 1e9),
        ("approach.longest_s", 0.001, 3600),
        ("start_tolerance", 0, 1),
        ("tolerances.path", 1e-6, 1000),
        ("tolerances.goal", 1e-6, 1000),
        ("tolerances.goal_time_s", 0, 3600),
        ("checks.effort_s", 0.001, 3600),
        ("checks.stale_s", 0.001, 3600),
        ("checks.stall_s", 0.001, 3600),
        ("checks.stall_error", 1e-6, 1000),
        ("exit_timeout_s", 0.001, 3600),
        ("stop_duration_s", 0.001, 60),
        ("max_skip_s", 1e-6, 10),
        ("max_lateness_s", 0.001, 60),
        ("idle_rate_hz", 1, 2000),
        ("stream_timeout_s", 0.05, 600),
        ("poses.home.a", -1e6, 1e6),
        ("joints.b.offset", -1e6, 1e6),
        ("joints.b.reduction", -1e6, 1e6),
        ("joints.b.limits.lower", -1e6, 1e6),
        ("joints.b.limits.upper", -1e6, 1e6),
        ("joints.b.limits.velocity", 1e-5, 1e5),
        ("joints.b.limits.acceleration", 1e-5, 1e7),
        ("joints.b.limits.effort", 1e-6, 1e6),
        ("joints.b.mimic.multiplier", -1e6, 1e6),
        ("joints.b.mimic.offset", -1e6, 1e6),
        ("joints.b.tolerances.path", 1e-6, 1000),
        ("joints.b.tolerances.goal", 1e-6, 1000),
        ("joints.b.tolerances.stall_error", 1e-6, 1000),
        ("joints.b.tolerances.start_tolerance", 0, 1),
        ("tolerances.goal.m", 1e-6, 1000),
        ("checks.stall_error.rad", 1e-6, 1000),
        ("start_tolerance.m", 0, 1),
        ("approach.velocity.m", 1e-5, 1e5),
    ],
)
def test_every_number_has_bounds_that_are_told(
    tmp_path: Path, option: str, least: float, most: float
) -> None:
    *places, last = option.split(".")

    def refused(value: float) -> list[str]:
        written: Any = {last: value}
        for place in reversed(places):
            written = {place: written}
        joints = {"a": {"limits": {"lower": -1, "upper": 1, "velocity": 1}}, **written.pop("joints", {})}
        robot = {"joints": joints, "driver": {"type": "sim"}, **written}
        file = tmp_path / "arm.yaml"
        file.write_text(json.dumps({"robots": {"arm": robot}}))
        try:
            load_settings(file)
        except ConfigError as error:
            return [line for line in str(error).splitlines() if f"arm.{option} is" in line]
        return []

    assert (refused(least), refused(most)) == ([], [])
    for value, how, bound in ((least - 1e300, AT_LEAST, least), (most + 1e300, AT_MOST, most)):
        (line,) = refused(value)
        words = line.partition(f"arm.{option} is {value!r}; it must be {how} ")[2]
        assert words.endswith("; correct it"), line
        assert float(words.partition(";")[0]) == bound


@pytest.mark.parametrize(
    ("robot", "message"),
    [
        (
            "tolerances: {goal: {deg: 5}}",
            "arm.yaml:1: robots.arm.tolerances.goal.deg is 'deg'; it must be rad, m",
        ),
        (
            "start_tolerance: {}",
            "arm.yaml:1: robots.arm.start_tolerance is empty; it needs at least one entry; add one",
        ),
        (
            "checks: {stall_error: few}",
            "arm.yaml:1: robots.arm.checks.stall_error is 'few'; it must be a valid number; correct it",
        ),
        (
            "checks: {stall_error: {rad: null}}",
            (
                "arm.yaml:1: robots.arm.checks.stall_error.rad is of the wrong kind; "
                "it must be a valid number; correct it"
            ),
        ),
    ],
)
def test_a_number_by_unit_is_refused_where_it_stands(tmp_path: Path, robot: str, message: str) -> None:
    assert refusal(tmp_path, ARM.replace("driver", f"{robot}, driver", 1)) == message


def test_a_number_by_unit_may_be_one_number_or_a_mapping(tmp_path: Path) -> None:
    file = tmp_path / "arm.yaml"
    text = "tolerances: {path: 0.2, goal: {rad: 0.05, m: null}}, start_tolerance: {m: 0}"
    file.write_text(ARM.replace("driver", f"{text}, driver", 1))
    arm = load_settings(file).robots["arm"]
    assert (arm.tolerances.path, arm.tolerances.goal) == (0.2, {"rad": 0.05, "m": None})
    assert (arm.start_tolerance, arm.approach.velocity) == ({"m": 0.0}, {"rad": 0.5, "m": 0.25})


def test_a_reduction_by_which_nothing_can_be_divided_is_refused(tmp_path: Path) -> None:
    text = f"robots: {{arm: {{{MOVES.replace('{limits', '{reduction: 5e-324, limits')}}}}}"
    assert refusal(tmp_path, text) == (
        "arm.yaml:1: reduction is 4.94066e-324; "
        "positions are divided by it, and the smallest is 1e-06; correct it"
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("1" + "0" * 5000, "a whole number of 5001 characters; 40 are read"),
        ("2001-99-99", "'2001-99-99' is no timestamp"),
        ("!!int five", "'five' is no int"),
        ("!!bool maybe", "'maybe' is no bool"),
        ("1" + ":1" * 5000, "a whole number of 10001 characters; 40 are read"),
    ],
)
def test_what_yaml_takes_for_a_number_or_date_and_is_none_is_refused(
    tmp_path: Path, value: str, message: str
) -> None:
    assert refusal(tmp_path, f"id: a\nstart: {value}\n") == f"arm.yaml:2: not valid YAML; {message}"


def test_a_configuration_that_is_too_large_is_not_even_read(tmp_path: Path) -> None:
    file = tmp_path / "arm.yaml"
    file.touch()
    os.truncate(file, 5_000_000_000)
    with pytest.raises(ConfigError) as caught:
        load_settings(file)
    assert str(caught.value) == (
        f"{file}: has 5000000000 bytes; a configuration has at most 1000000; check that it is the right file"
    )


def test_more_values_than_any_configuration_has_are_refused(tmp_path: Path) -> None:
    text = "id: [\n" + "1," * 100_001 + "]"
    assert refusal(tmp_path, text) == "arm.yaml:2: holds too much; 100000 values are read; shorten it"


def laughs(anchored: str, repeating: str, rounds: int = 12) -> str:
    """Return anchors of which each repeats the one before nine times."""
    lines = [f"a0: &a0 {anchored}"]
    for number in range(1, rounds):
        inside = ", ".join(repeating.format(key=f"k{entry}", alias=f"*a{number - 1}") for entry in range(9))
        lines.append(f"a{number}: &a{number} " + ("{%s}" if "{key}" in repeating else "[%s]") % inside)
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (laughs("[x, x, x]", "{alias}"), "6: holds too much; *a4 repeats 27064 values; "),
        (laughs("{x: 1}", "{key}: {alias}"), "6: holds too much; *a4 repeats 27883 values; "),
        (f"robots:\n  arm: &all {{x: 1}}\n{laughs('[*all, *all]', '{alias}')}", None),
        (
            "a: &a {x: 1, y: 1}\nb: {<<: [" + "*a, " * 40_000 + "]}",
            "2: holds too much; *a repeats 5 values; ",
        ),
        (
            "a: &a " + "x" * 40_000 + "\nb: [" + "*a, " * 100 + "]",
            "2: holds too much; *a repeats 1001 values; ",
        ),
    ],
    ids=["lists", "mappings", "below", "merged", "long texts"],
)
def test_aliases_count_as_what_they_repeat(tmp_path: Path, text: str, message: str | None) -> None:
    begin_s = time.process_time()
    refused = refusal(tmp_path, text)
    assert time.process_time() - begin_s < 1.0  # it was for ever
    if message is not None:
        assert refused == f"arm.yaml:{message}100000 values are read; shorten it"
    assert "holds too much" in refused


def test_aliases_that_repeat_little_are_read(tmp_path: Path) -> None:
    file = tmp_path / "arm.yaml"
    file.write_text(
        ARM.replace("arm: ", "arm: &arm ").replace("}}}}}\n", "}}}}, leg: *arm, hand: {<<: *arm}}\n")
    )
    robots = load_settings(file).robots
    assert robots["arm"] == robots["leg"] == robots["hand"]


@pytest.mark.parametrize(
    "value", ["!!set [a, b]", "!!map [a]", "!!set a", "!!omap {a: 1}", "!!pairs a", "!!seq a"]
)
def test_a_tag_that_does_not_fit_its_value_is_refused(tmp_path: Path, value: str) -> None:
    assert refusal(tmp_path, f"id: a\nrobots: {value}").startswith("arm.yaml:2: not valid YAML; ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "%TAG !a! tag:a,1:\n" * 11 + "---\nid: a",
            "too many lines begin with %; a document has at most 10; leave them out",
        ),
        (
            "robots:\n" + "".join(f"  r{entry}: {{driver: {{type: none}}}}\n" for entry in range(251)),
            "there are 251 robots; a daemon has at most 250; give the others a daemon of their own",
        ),
    ],
    ids=["directives", "robots"],
)
def test_what_takes_long_to_look_through_is_refused_first(tmp_path: Path, text: str, message: str) -> None:
    assert refusal(tmp_path, text) == f"arm.yaml:1: {message}"


@pytest.mark.parametrize(
    "value", ["!" * 100_000, ":" * 100_000, "a://" * 20_000, "@" * 90_000 + ":", "'" + "a:@" * 30_000 + "'"]
)
def test_a_long_value_is_refused_as_fast_as_it_is_read(tmp_path: Path, value: str) -> None:
    begin_s = time.process_time()
    assert "arm.yaml:" in refusal(tmp_path, f"id: {value}\nid: '{value.strip(chr(39))}'")
    assert time.process_time() - begin_s < 2.0  # it was minutes


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("[choir, choir]", "'choir' stands twice; a robot is in a group once; remove one"),
        (
            f"[{', '.join(f'g{number}' for number in range(21))}]",
            "robots.arm.groups has more than 20 entries; it takes no more; remove some",
        ),
    ],
    ids=["twice", "many"],
)
def test_a_robot_is_in_each_of_at_most_twenty_groups_once(tmp_path: Path, groups: str, message: str) -> None:
    assert refusal(tmp_path, f"robots: {{arm: {{groups: {groups}, {MOVES}}}}}") == f"arm.yaml:1: {message}"
