"""The subcommands that show all robots at a broker: a page for browsers, and a table for a terminal."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..output import DONE, awaited
from .broker import Client, asks_a_daemon, first_problem, option_of

if TYPE_CHECKING:
    from ...config.http import HttpSettings

app = typer.Typer()

LISTEN = "127.0.0.1:8090"


@app.command()
@asks_a_daemon
def serve(
    *,
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where the page is served.")] = LISTEN,
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Its first line is the token that everybody shows.")
    ] = None,
    cert_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Certificate, so that the page is served by TLS.")
    ] = None,
    key_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Private key of that certificate.")
    ] = None,
    hosts: Annotated[
        list[str] | None, typer.Option("--host", help="A further name of this machine; may be repeated.")
    ] = None,
    origins: Annotated[
        list[str] | None, typer.Option("--origin", help="Where a page of yours comes from; may be repeated.")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log more to stderr.")] = False,
    client: Client,
) -> int:
    """Serve a page of all robots at the broker, on any machine.

    Until SIGTERM or SIGINT.
    """
    from ...fleet.gateway import FleetServer
    from ...log import start_logging

    files = {"token_file": token_file, "cert_file": cert_file, "key_file": key_file}
    options = {**files, "hosts": hosts, "origins": origins}
    http = _http({"listen": listen} | {name: value for name, value in options.items() if value is not None})
    mqtt = client.mqtt()
    start_logging(logging.DEBUG if verbose else logging.INFO)
    awaited(FleetServer(mqtt, http).run())
    return DONE


def _http(options: dict[str, Any]) -> "HttpSettings":
    """Check the options by which HTTP is served, as those of a configuration are."""
    from pydantic import ValidationError

    from ...config.http import HttpSettings

    try:
        return HttpSettings(**options)
    except ValidationError as error:
        key, reason = first_problem(error)
        hint = option_of(key).removesuffix("s") if key in {"hosts", "origins"} else option_of(key)
        raise typer.BadParameter(reason, param_hint=hint) from error


@app.command()
@asks_a_daemon
def monitor(
    *,
    seconds: Annotated[float | None, typer.Option(min=0, help="End by itself after so long.")] = None,
    client: Client,
) -> int:
    """Show all robots at the broker as they move, until Ctrl-C.

    Without a terminal a line a second.
    """
    from rich.console import Console

    from .fleet_table import show

    awaited(show(client.mqtt(), Console(), seconds))
    return DONE
