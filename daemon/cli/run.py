"""The subcommands that run the daemon: as a service, or as the demonstration."""

import logging
from typing import Annotated

import typer

from .output import DONE, ConfigFile, config_of, own_name

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log more to stderr.")]


@app.command()
def run(config: ConfigFile = None, *, verbose: Verbose = False) -> int:
    """Run the daemon until SIGTERM or SIGINT."""
    import asyncio

    from ..ipc.stream_forks import StreamForks

    config = config_of(config)
    with StreamForks() as forks:
        forks.start()  # it loads while the daemon does
        from ..api import ReportHub
        from ..config.settings import load_settings
        from ..config.state_folder import state_folder
        from ..history import History
        from ..log import start_logging
        from ..robots import make_registry
        from ..service import serve

        start_logging(logging.DEBUG if verbose else logging.INFO)
        settings = load_settings(config)
        forks.load({robot.driver.type for robot in settings.robots.values()})
        hub = ReportHub()
        history = History.in_folder(state_folder(), settings.id)
        registry = make_registry(settings, hub, forks, history=history)
        asyncio.run(serve(settings, hub, registry, config))
    return DONE


@app.command()
def demo(
    seconds: Annotated[float | None, typer.Option(min=0, help="End by itself after so long.")] = None,
    *,
    config_path: Annotated[
        bool,
        typer.Option(
            "--config-path",
            help="Show where its configuration is; `motiond config example` makes a copy.",
        ),
    ] = False,
    verbose: Verbose = False,
) -> int:
    """Play on a simulated arm and show it, with a broker inside."""
    from rich.console import Console

    from ..config.settings import load_settings
    from ..log import start_logging
    from ..tools.example import example_config
    from .demo import run_demo

    if config_path:
        typer.echo(example_config())
        return DONE
    start_logging(logging.INFO if verbose else logging.WARNING)
    run_demo(load_settings(example_config()), Console(), own_name(), seconds)
    return DONE
