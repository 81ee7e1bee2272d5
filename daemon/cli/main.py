"""The command line: puts the subcommands together, and turns errors into lines on stderr and exit codes.

An error that a subcommand may end with is told as `where: what; why; how to mend`, and names its exit code in
`exit_code` (docs/cli.md); any other is a defect, and a traceback. What only some subcommands need is imported
by these, so that a request is sent at once.
"""

import asyncio
import atexit
import gc
import logging
import sys
from typing import Annotated, NoReturn

import typer

from ..service.interpreter import few_passes
from .actuators import app as commands_for_actuators
from .completion import app as command_for_shells
from .completion import serve_scripts
from .doctor import app as command_for_machines
from .example import app as commands_to_begin_with
from .files import app as commands_for_files
from .fleet import fleet as commands_for_groups
from .fleet_view import app as commands_that_show_all
from .forget import app as command_to_forget
from .init import app as command_to_begin
from .output import DEFAULT_CONFIG, DONE, WRONG_INPUT, ConfigFile, own_name, tell
from .play import app as commands_that_play
from .robots import app as commands_for_robots
from .whole import app as command_for_the_daemon

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Plays motion files on real actuators.",
    epilog="Exit codes: 0 done; 1 refused or failed; 2 wrong command line, configuration or file; "
    "3 nobody answers; 130 interrupted.",
)

app.add_typer(commands_that_play)
app.add_typer(commands_for_robots)
app.add_typer(command_for_the_daemon)
app.add_typer(command_to_forget)
commands_for_groups.add_typer(commands_that_show_all)
app.add_typer(commands_for_groups)
app.add_typer(commands_for_files)
app.add_typer(commands_for_actuators)
app.add_typer(commands_to_begin_with, name="config")
app.add_typer(command_for_machines)
app.add_typer(command_to_begin)
app.add_typer(command_for_shells)

Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Tell more on stderr.")]


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the program; the exit code tells how it went."""
    atexit.register(gc.freeze)  # nobody needs a search for garbage then
    with few_passes():
        sys.exit(_exit_code(arguments))


def _exit_code(arguments: list[str] | None) -> int:
    serve_scripts()
    try:
        return app(arguments, prog_name="motiond", standalone_mode=False) or DONE
    except typer.TyperException as error:
        what = " ".join(error.format_message().split()).replace(": Value error, ", ": ").rstrip(".")
        if not what:  # the help that it stands for was written instead
            return WRONG_INPUT
        return tell(f"motiond: {what[:1].lower()}{what[1:]}; see `motiond --help`", WRONG_INPUT)
    except Exception as error:
        exit_code = getattr(error, "exit_code", None)
        if exit_code is None:
            raise
        return tell(str(error), exit_code)


def _print_version(*, wanted: bool) -> None:
    if wanted:
        from .version import own_version

        typer.echo(f"motiond {own_version()}")
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
    from ..robots.stream_forks import StreamForks

    with StreamForks() as forks:
        forks.start()  # it loads while the daemon does
        from ..api.reports import ReportHub
        from ..clock.monitor import ClockMonitor
        from ..config.settings import load_settings
        from ..log.lines import start_logging
        from ..robots.assembly import Assembly
        from ..service.daemon import Source, serve

        start_logging(logging.DEBUG if verbose else logging.INFO)
        settings = load_settings(config)
        hub = ReportHub()
        assembly = Assembly(hub, forks, ClockMonitor(settings.max_clock_error_s))
        registry = assembly.registry(settings)
        asyncio.run(serve(settings, hub, registry, Source(config, assembly)))
    return DONE


@app.command()
def demo(
    seconds: Annotated[float | None, typer.Option(min=0, help="End by itself after so long.")] = None,
    *,
    config_path: Annotated[
        bool,
        typer.Option(
            "--config-path",
            help="Say where its configuration is; `motiond config example` makes a copy.",
        ),
    ] = False,
    verbose: Verbose = False,
) -> int:
    """Play on a simulated arm and show it, with a broker inside."""
    from rich.console import Console

    from ..config.settings import load_settings
    from ..log.lines import start_logging
    from ..tools.example import example_config
    from .demo import run_demo

    if config_path:
        typer.echo(example_config())
        return DONE
    start_logging(logging.INFO if verbose else logging.WARNING)
    run_demo(load_settings(example_config()), Console(), own_name(), seconds)
    return DONE
