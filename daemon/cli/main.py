"""The command line: one function a subcommand.

In come arguments, out come the daemon itself, requests to it over MQTT, or what is in a file. Errors go to
stderr in one line each, as `where: what; why; how to mend`. The exit codes stand in `docs/cli.md`.
What only the daemon needs is imported by the subcommand that runs it: a request is sent 0.4 s sooner.
"""

import asyncio
import logging
import shutil
import sys
from collections.abc import Coroutine
from concurrent.futures import BrokenExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from motiond.drivers.base import DriverError
from motiond.formats import FormatError
from motiond.formats.model.motion import MotionError

from ..api.errors import RequestError
from ..client.session import NoAnswer
from ..config.settings import load_settings
from ..config.yaml_file import ConfigError
from ..joints.joint_map import JointMapError
from ..service.logs import start_logging
from ..tools.convert import ConversionError
from ..tools.plot import PlottingUnavailable
from .actuators import app as commands_for_actuators
from .files import app as commands_for_files
from .output import (
    DEFAULT_CONFIG,
    DONE,
    FAILED,
    NOBODY_ANSWERS,
    WRONG_INPUT,
    ConfigFile,
    tell,
)
from .robots import app as commands_for_robots

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Plays motion files on real actuators.",
    epilog="Exit codes: 0 done; 1 refused or failed; 2 wrong command line, configuration or file; "
    "3 nobody answers; 130 interrupted.",
)

app.add_typer(commands_for_robots)
app.add_typer(commands_for_files)
app.add_typer(commands_for_actuators)

Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Tell more on stderr.")]


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the program; the exit code tells how it went."""
    sys.exit(_exit_code(arguments))


def _exit_code(arguments: list[str] | None) -> int:
    try:
        return app(arguments, prog_name="motiond", standalone_mode=False) or DONE
    except typer.TyperException as error:
        what = error.format_message().rstrip(".")
        return tell(f"motiond: {what[:1].lower()}{what[1:]}; see `motiond --help`", WRONG_INPUT)
    except (ConfigError, FormatError, MotionError, ConversionError, JointMapError, DriverError) as error:
        return tell(str(error), WRONG_INPUT)
    except (RequestError, PlottingUnavailable) as error:
        return tell(str(error), FAILED)
    except BrokenExecutor:
        why, mend = "the system may be short of memory", "try again with fewer --jobs"
        return tell(f"motiond: a process that read files ended by itself; {why}; {mend}", FAILED)
    except NoAnswer as error:
        return tell(str(error), NOBODY_ANSWERS)


def _print_version(*, wanted: bool) -> None:
    if wanted:
        typer.echo(f"motiond {version('motiond')}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Tell the version.")
    ] = False,
) -> None:
    pass


@app.command()
def run(config: ConfigFile = DEFAULT_CONFIG, *, verbose: Verbose = False) -> int:
    """Run the daemon until SIGTERM or SIGINT."""
    from ..api.reports import ReportHub  # noqa: PLC0415 - see the module's docstring
    from ..robots.assembly import make_registry  # noqa: PLC0415 - the same
    from ..service.daemon import serve  # noqa: PLC0415 - the same

    start_logging(logging.DEBUG if verbose else logging.INFO)
    settings = load_settings(config)
    hub = ReportHub()
    return _run_with_broker(serve(settings, hub, make_registry(settings, hub)))


@app.command()
def demo(
    seconds: Annotated[float | None, typer.Option(min=0, help="End by itself after so long.")] = None,
    *,
    verbose: Verbose = False,
) -> int:
    """Play on a simulated arm and show it, with a broker inside."""
    from .demo import Demo, demo_config, on_free_port  # noqa: PLC0415 - see the module's docstring

    start_logging(logging.INFO if verbose else logging.WARNING)
    settings = on_free_port(load_settings(demo_config()))
    return _run_with_broker(Demo(settings, Console(), _own_name()).run(seconds))


def _run_with_broker(running: Coroutine[Any, Any, None]) -> int:
    from ..mqtt.broker import BrokerError  # noqa: PLC0415 - see the module's docstring

    try:
        asyncio.run(running)
    except BrokerError as error:
        return tell(str(error), FAILED)
    return DONE


def _own_name() -> str:
    """Give how another terminal calls this program: by name where that finds the same one."""
    here = Path(sys.argv[0]).absolute()
    found = shutil.which(here.name)
    return here.name if found and Path(found).resolve() == here.resolve() else str(here)
