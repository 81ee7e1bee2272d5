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
from tests.tables import table

ROOT = Path(__file__).parents[3]
FILES = ROOT / "tests" / "files"
JOINTS = "joints: {a: {limits: {lower: -1, upper: 1, velocity: 1}}}"
ARM = f"robots: {{arm: {{driver: {{type: sim}}, {JOINTS}}}}}\n"


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


@table(
    "text, message", ("robots: " + "[" * 100_000, "arm.yaml:1: nests too deeply; 64 levels do; flatten it")
)
def test_a_mistake_is_told_where_it_stands(tmp_path: Path, text: str, message: str) -> None:
    assert refusal(tmp_path, text.replace("JOINTS", JOINTS)) == message


def test_hebis_own_configuration_is_no_configuration(tmp_path: Path) -> None:
    assert refusal(tmp_path, "version: 1.0\nfamilies: Arm\nnames: [J1]\n") == (
        "arm.yaml: is a robot configuration of HEBI's; it names modules, and a description by `hrdf`; "
        "name it in a configuration: `driver: {type: hebi, config: arm.cfg.yaml}`"
    )


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(tmp_path / "no.yaml")
    assert str(caught.value) == f"{tmp_path}/no.yaml: cannot be read; no such file; check the path"


def test_relative_paths_belong_to_the_files_folder(tmp_path: Path) -> None:
    file = tmp_path / "arm.yaml"
    file.write_text(
        ARM.replace("type: sim", "type: sim, trace: out/trace.npy") + "resource_paths: [parts, /opt]\n"
    )
    settings = load_settings(file)
    assert settings.resource_paths == [tmp_path / "parts", Path("/opt")]
    assert settings.robots["arm"].driver.options == {"trace": tmp_path / "out" / "trace.npy"}


def test_numbers_are_those_of_yaml_1_2(tmp_path: Path) -> None:
    file = tmp_path / "arm.yaml"
    file.write_text(ARM.replace("driver", "start_tolerance: 1e-3, driver"))
    assert load_settings(file).robots["arm"].start_tolerance == 0.001


@pytest.mark.parametrize(
    ("text", "size"),
    [("10 GB", 10_000_000_000), ("1.5MB", 1_500_000), ("1000 kB", 1_000_000), ("2 TB", 2_000_000_000_000)],
)
def test_a_size_has_a_unit(tmp_path: Path, text: str, size: int) -> None:
    file = tmp_path / "arm.yaml"
    file.write_text(ARM.replace("driver", f"recording: {{keep: {text}}}, driver"))
    assert load_settings(file).robots["arm"].recording.keep == size


AT_LEAST, AT_MOST = "greater than or equal to", "less than or equal to"


@table("option, least, most")
def test_every_number_has_bounds_that_are_told(
    tmp_path: Path, option: str, least: float, most: float
) -> None:
    *places, last = option.split(".")

    def refused(value: float) -> list[str]:
        joints = {"a": {"limits": {"lower": -1, "upper": 1, "velocity": 1}}}
        whole: Any = {"robots": {"arm": {"joints": joints, "driver": {"type": "sim"}}}}
        section = whole
        for place in places:
            section = section.setdefault(place, {})
        section[last] = value
        file = tmp_path / "arm.yaml"
        file.write_text(json.dumps(whole))
        try:
            load_settings(file)
        except ConfigError as error:
            return [line for line in str(error).splitlines() if f"{option} is" in line]
        return []

    assert (refused(least), refused(most)) == ([], [])
    for value, how, bound in ((least - 1e300, AT_LEAST, least), (most + 1e300, AT_MOST, most)):
        (line,) = refused(value)
        words = line.partition(f"{option} is {value!r}; it must be {how} ")[2]
        assert words.endswith("; correct it"), line
        assert float(words.partition(";")[0]) == bound


def test_a_number_by_unit_may_be_one_number_or_a_mapping(tmp_path: Path) -> None:
    file = tmp_path / "arm.yaml"
    text = "tolerances: {path: 0.2, goal: {rad: 0.05, m: null}}, start_tolerance: {m: 0}"
    file.write_text(ARM.replace("driver", f"{text}, driver", 1))
    arm = load_settings(file).robots["arm"]
    assert (arm.tolerances.path, arm.tolerances.goal) == (0.2, {"rad": 0.05, "m": None})
    assert (arm.start_tolerance, arm.approach.velocity) == ({"m": 0.0}, {"rad": 0.5, "m": 0.25})


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


@pytest.mark.parametrize("own", ["driver: {type: sim}, <<: *arm", "<<: *arm, driver: {type: sim}"])
def test_a_key_of_its_own_overrides_one_that_is_merged(tmp_path: Path, own: str) -> None:
    file = tmp_path / "arm.yaml"
    file.write_text(ARM.replace("arm: ", "arm: &arm ").replace("}}}}}\n", f"}}}}}}}}, hand: {{{own}}}}}\n"))
    robots = load_settings(file).robots
    assert robots["hand"].joints == robots["arm"].joints


def test_a_key_that_stands_twice_beside_a_merge_is_refused(tmp_path: Path) -> None:
    own = "on_end: hold, on_end: park, <<: *arm"
    text = ARM.replace("arm: ", "arm: &arm ").replace("}}}}}\n", f"}}}}}}}}, hand: {{{own}}}}}\n")
    assert "key 'on_end' stands twice" in refusal(tmp_path, text)


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
