"""What the documentation says, draws and links is what the code does and the checkout holds."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import orjson
import pytest
import typer.main
import yaml

from bench.__main__ import NAMES
from motiond.daemon.api import RETAINED, SUBJECTS, VERBS, ErrorCode, PlayRequest, Request
from motiond.daemon.cli.app import app
from motiond.daemon.config.http import HttpSettings
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.config.robot import CheckSettings, JointSettings, RobotSettings
from motiond.daemon.config.section import Section
from motiond.daemon.config.settings import RealtimeSettings, Settings, load_settings
from motiond.daemon.http.openapi import openapi
from motiond.daemon.http.routes.exchange import AT_ODDS, STATUS
from motiond.daemon.ipc.states import TRANSITIONS
from motiond.daemon.mqtt.bridge import qos_of
from motiond.daemon.tools.dry_run import run_dry
from motiond.drivers.sim.faults import FAULTS
from motiond.formats.registry import MOTIONS, ROBOTS
from tests.daemon.rig import Rig

if TYPE_CHECKING:
    from pydantic import BaseModel

CHECKOUT = Path(__file__).parents[2]
DOCS = CHECKOUT / "docs"
PAGES = sorted([*CHECKOUT.glob("*.md"), *DOCS.glob("**/*.md")])
TEXTS = [*PAGES, *CHECKOUT.glob("config/*.yaml"), *CHECKOUT.glob("systemd/*")]
FOLDERS = "config|daemon|docs|drivers|examples|formats|motiond|scripts|systemd|tests"
PATH = re.compile(rf"(?<![\w/.-])((?:{FOLDERS})/[\w./-]*\w\.[a-z]\w*)")
MODULE = re.compile(r"(?<![\w.])motiond\.(?:daemon|drivers|formats)(?:\.\w+)*")


def rows_of(page: str, section: str) -> list[list[str]]:
    """Return the cells of each row of the first table in a section, without its head."""
    text = (DOCS / page).read_text(encoding="utf-8").split(f"# {section}\n")[1]
    table = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert table is not None
    lines = table.group().splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


# -- the pages by themselves --------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)[^):]*\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_links_to_headings_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^):#]*)#([^)]+)\)", page.read_text(encoding="utf-8"))
    assert [
        (file, heading)
        for file, heading in links
        if heading not in anchors(page.parent / file if file else page)
    ] == []


def anchors(page: Path) -> set[str]:
    """Return what links call the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_decisions_are_numbered_and_have_a_status_and_a_date() -> None:
    heads = [page.read_text().split("\n")[:3] for page in (DOCS / "decisions").glob("*.md")]
    numbers = sorted(int(title.removeprefix("# ").partition(". ")[0]) for title, *_ in heads)
    assert numbers == list(range(1, len(heads) + 1))
    status = re.compile(
        r"(Accepted|Superseded by \[.+\]\(.+\),) \d{4}-\d\d-\d\d(; changed \d{4}-\d\d-\d\d: .+)?\."
    )
    assert [head for head in heads if not status.fullmatch(head[2])] == []


def test_every_page_stands_in_the_index() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    pages = [page.relative_to(DOCS) for page in DOCS.glob("**/*.md") if "decisions" not in page.parts]
    missing = [str(page) for page in pages if f"({page})" not in index and page.name != "index.md"]
    assert missing == []


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: str(text.relative_to(CHECKOUT)))
def test_files_that_are_named_exist(text: Path) -> None:
    named = [name for name in PATH.findall(text.read_text(encoding="utf-8")) if "NAME" not in name]
    assert [
        name for name in named if not any((base / name).exists() for base in (CHECKOUT, text.parent))
    ] == []


def test_modules_that_are_named_exist() -> None:
    named = {name for text in TEXTS for name in MODULE.findall(text.read_text(encoding="utf-8"))}
    assert len(named) > 5
    assert [name for name in sorted(named) if not is_there(name)] == []


def is_there(name: str) -> bool:
    """Whether a dotted name is that of a module, or of something in one."""
    try:
        import_module(name)
    except ModuleNotFoundError:
        module, _, last = name.rpartition(".")
        return hasattr(import_module(module), last)
    return True


# -- the pages and the code ---------------------------------------------------------------------------------


def test_the_drawn_state_machine_is_the_players() -> None:
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    drawn = re.findall(r"^ +(\w+) --> (\w+): (\w+)$", text, re.MULTILINE)
    assert len(drawn) == len(set(drawn))
    assert set(drawn) == {(state, after, event) for (state, event), after in TRANSITIONS.items()}


def test_every_verb_has_its_row_with_its_keys() -> None:
    named = {
        verb: set() if row[1].startswith("|") else set(quoted(row[1]))
        for row in rows_of("mqtt.md", "What it can be asked")
        for verb in quoted(row[0])
    }
    besides = {"goto": {"play"}, "fault": {"actuator"}}  # another verb, and a key that is a driver's own
    assert set(named) == set(VERBS)
    for verb, keys in named.items():
        if verb != "play":
            fields = VERBS[verb].request.model_fields
            known = {
                field.alias or name for name, field in fields.items() if name not in Request.model_fields
            }
            assert keys == known | besides.get(verb, set())


def test_the_keys_of_play_are_those_of_its_schema() -> None:
    named = {key: row[2] for row in rows_of("mqtt.md", "Keys of `play`") for key in quoted(row[0])}
    assert named == {
        key: "required" if field.is_required() else f"`{orjson.dumps(whole(field.default)).decode()}`"
        for key, field in PlayRequest.model_fields.items()
        if key not in Request.model_fields
    }


def whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def test_every_topic_has_its_row() -> None:
    named = {quoted(row[0])[0]: row[1:3] for row in rows_of("mqtt.md", "What the daemon publishes")}
    assert named.pop("motiond/bridge/motiond/availability") == ["1", "yes"]
    assert named.pop("motiond/bridge/motiond/heartbeat") == ["0", "no"]
    assert named.pop("motiond/arm/request/heartbeat") == ["0", "no"]
    assert named.pop("motiond/arm/response/<verb>") == ["1 (0 where the broker takes no QoS 2)", "no"]
    assert named == {
        f"motiond/arm/{subject}": [str(qos_of(subject)), "yes" if subject in RETAINED else "no"]
        for subject in SUBJECTS
    }


def test_a_description_names_the_formats_that_there_are() -> None:
    page = (DOCS / "mqtt.md").read_text(encoding="utf-8")
    (named,) = re.findall(r'^motiond/arm/description .*"formats":(\{.*?\})', page, re.MULTILINE)
    assert orjson.loads(named) == {
        kind.name: [one.NAME for one in kind.formats()] for kind in (ROBOTS, MOTIONS)
    }
    (named,) = re.findall(r'^motiond/arm/description .*"motion_suffixes":(\[.*?\])', page, re.MULTILINE)
    assert orjson.loads(named) == [*MOTIONS.suffixes]


def test_a_result_on_the_page_has_the_keys_of_one(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    played = run_dry(load_settings(rig.config), "arm", PlayRequest(motion="short")).result
    page = (DOCS / "mqtt.md").read_text(encoding="utf-8")
    (named,) = re.findall(r"^motiond/arm/result (.*)$", page, re.MULTILINE)
    assert orjson.loads(named).keys() - {"sequence", "stamp_utc"} == played.keys() - {"events"}


def test_every_subcommand_has_its_row() -> None:
    named = {text.split()[1] for row in rows_of("cli.md", "Command line") for text in quoted(row[0])}
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    assert named == set(group.commands)


def test_every_check_is_explained() -> None:
    named = {
        name
        for row in rows_of("planning.md", "Checks while it moves")
        for cell in row
        for name in quoted(cell)
    }
    assert named >= CheckSettings.model_fields.keys()


def test_every_benchmark_is_explained() -> None:
    named = [
        name
        for section in ("The motion engine", "Files, robots and drivers", "The command line")
        for row in rows_of("benchmarks.md", section)
        for name in quoted(row[0])
    ]
    assert sorted(named) == sorted(NAMES)


def test_every_fault_has_its_row() -> None:
    page = (DOCS / "faults.md").read_text(encoding="utf-8")
    (table,) = (part for part in page.split("\n\n") if part.startswith("| `fault` |"))
    assert sorted(quoted(row)[0] for row in table.splitlines()[2:]) == sorted(FAULTS)


# -- what the reference tells as well -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("section", "model"),
    [
        ("Top level", Settings),
        ("`mqtt`", MqttSettings),
        ("`http`", HttpSettings),
        ("`realtime`", RealtimeSettings),
        ("`robots.<name>`", RobotSettings),
        ("`robots.<name>.joints.<joint>`", JointSettings),
    ],
)
def test_every_option_has_its_row_with_its_default(section: str, model: type[BaseModel]) -> None:
    named: dict[str, str] = {}
    for row in rows_of("configuration.md", section):
        options, cell = quoted(row[0]), "" if row[1].startswith("|") else row[1]
        named |= dict(
            zip(options, cell.split(", ") if len(options) > 1 and cell else [cell] * 9, strict=False)
        )
        default = model.model_fields[options[0]].default
        if isinstance(default, Section) and not row[-1].startswith(("| see below", "see below")):
            assert defaults_in(row[-1]).items() >= scalars(type(default)).items(), options
    assert named.keys() == model.model_fields.keys()
    besides = {"unit": "rad"} if model is JointSettings else {}  # where there is no model that says it
    values = {option: yaml.safe_load(cell.strip("`")) for option, cell in named.items() if is_value(cell)}
    assert values == scalars(model) | besides


def is_value(cell: str) -> bool:
    """Whether a cell tells a value, rather than that there is none, or in words what stands in for one."""
    named = yaml.safe_load(cell.strip("`"))
    return (cell.startswith("`") and named not in (None, [])) or isinstance(named, int | float)


def scalars(model: type[BaseModel]) -> dict[str, Any]:
    """Return the options whose default is a number, one by unit, a text or a choice, as YAML reads it."""
    return {
        name: yaml.safe_load(field.default) if isinstance(field.default, str) else field.default
        for name, field in model.model_fields.items()
        if isinstance(field.default, bool | int | float | str)
        or (isinstance(field.default, dict) and field.default)
    }


def defaults_in(text: str) -> dict[str, Any]:
    """Return what a text tells as `option` 0.5, or `option` (`value`)."""
    return {
        name: yaml.safe_load(value)
        for name, value in re.findall(r"`(\w+)` \(?`?(\{.*?\}|[\w./]*\w(?: [kMGT]B)?)", text)
    }


def test_every_path_of_http_has_its_row() -> None:
    named = set()
    for row in rows_of("http.md", "HTTP"):
        path = quoted(row[0])[0].partition("?")[0]
        names = VERBS if path == "/api/robots/<robot>/<verb>" else quoted(row[2].partition(": `robots`")[0])
        paths = (
            [re.sub("<(subject|verb)>", name, path) for name in names]
            if path.endswith(("<subject>", "<verb>"))
            else [path]
        )
        named |= {(row[1], one.replace("<", "{").replace(">", "}")) for one in paths}
    known = {
        (method.upper(), path)
        for path, operations in openapi()["paths"].items()
        for method in operations
        if method != "parameters"
    }
    assert named ^ known == {("GET", "/")}  # the page itself


def test_every_code_of_a_refusal_has_its_row() -> None:
    by_mqtt = {
        code for row in rows_of("mqtt.md", "Answers and refusals") for code in row[0].split(", ") if code
    }
    page = (DOCS / "http.md").read_text(encoding="utf-8")
    (table,) = (part for part in page.split("\n\n") if part.startswith("| status |"))
    by_status: dict[int, set[str]] = {}
    for line in table.splitlines()[2:]:
        _, statuses, named, _ = line.split("|")
        found = set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b|\b[A-Z]{5,}\b|BUSY", named))
        by_status |= {int(status): found for status in statuses.split(",")}
    by_http_alone = {"UNKNOWN_ROBOT", "UNKNOWN_GROUP", "UNKNOWN_MODEL", "MEMBER_REFUSED"}
    codes = set(get_args(ErrorCode))
    assert by_mqtt | by_http_alone == codes
    assert by_http_alone <= set().union(*by_status.values()) <= codes
    assert [code for code, status in STATUS.items() if code not in by_status[status]] == []
    assert by_status[AT_ODDS] == {"NOT_IN_CONTROL", "MEMBER_REFUSED"}  # and all others


@pytest.mark.parametrize(
    ("page", "section", "command", "in_words"),
    [
        ("init.md", "Options", "init", ["--yes", "--force"]),
        ("cli.md", "Converting motions", "convert", ["--force"]),
        ("doctor.md", "Doctor", "doctor", []),
    ],
)
def test_every_option_of_a_command_has_its_row(
    page: str, section: str, command: str, in_words: list[str]
) -> None:
    named = {
        name
        for row in rows_of(page, section)
        for text in quoted(row[0])
        for name in re.findall("^-[-a-z]+", text)
    }
    text = (DOCS / page).read_text(encoding="utf-8")
    assert [name for name in in_words if f"`{name}`" not in text] == []
    options = options_of(command)
    assert [names for names in options if not names & {*named, *in_words}] == []
    assert named - set().union(*options) == set()


@pytest.mark.parametrize(
    ("page", "section", "commands"),
    [
        ("cli.md", "Asking a daemon", ["play", "stop", "status", "monitor", "fleet play", "fleet serve"]),
        ("cli.md", "Groups", ["fleet play"]),
        ("fleet.md", "A page for all", ["fleet serve"]),
    ],
)
def test_the_options_of_a_table_are_those_of_commands(page: str, section: str, commands: list[str]) -> None:
    named = {
        name
        for row in rows_of(page, section)
        for text in quoted(row[0])
        for name in re.findall("^-[-a-z]+", text)
    }
    assert named
    for command in commands:
        assert named - set().union(*options_of(command)) == set(), command


def options_of(command: str) -> list[set[str]]:
    """Return the spellings of each option of a command."""
    found: Any = typer.main.get_command(app)
    for name in command.split():
        found = found.commands[name]
    named = [{*one.opts, *one.secondary_opts} for one in found.params]
    return [names for names in named if "--help" not in names and any(one.startswith("-") for one in names)]
