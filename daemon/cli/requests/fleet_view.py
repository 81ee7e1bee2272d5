"""The subcommands that show all robots at a broker: a page for browsers, and a table for a terminal."""

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..output import DONE
from .broker import Client, asks_a_daemon, first_problem, option_of

if TYPE_CHECKING:
    from rich.console import Console

    from ...config.http import HttpSettings
    from ...config.mqtt import MqttSettings

app = typer.Typer()

DRAW_S, LINE_S = 0.25, 1.0
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
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log more to stderr.")] = False,
    client: Client,
) -> int:
    """Serve a page of all robots at the broker, on any machine, until SIGTERM or SIGINT."""
    from ...fleet.gateway import FleetServer
    from ...log import start_logging

    given = {"token_file": token_file, "cert_file": cert_file, "key_file": key_file, "hosts": hosts}
    http = _http({"listen": listen} | {name: value for name, value in given.items() if value is not None})
    mqtt = client.mqtt()
    start_logging(logging.DEBUG if verbose else logging.INFO)
    asyncio.run(FleetServer(mqtt, http).run())
    return DONE


def _http(given: dict[str, Any]) -> "HttpSettings":
    """Check the options by which HTTP is served, as those of a configuration are."""
    from pydantic import ValidationError

    from ...config.http import HttpSettings

    try:
        return HttpSettings(**given)
    except ValidationError as error:
        key, reason = first_problem(error)
        hint = "--host" if key == "hosts" else option_of(key)
        raise typer.BadParameter(reason, param_hint=hint) from error


@app.command()
@asks_a_daemon
def monitor(
    *,
    seconds: Annotated[float | None, typer.Option(min=0, help="End by itself after so long.")] = None,
    client: Client,
) -> int:
    """Show all robots at the broker as they move, until Ctrl-C; without a terminal a line a second."""
    from rich.console import Console

    asyncio.run(_monitor(client.mqtt(), Console(), seconds))
    return DONE


async def _monitor(mqtt: "MqttSettings", console: "Console", seconds: float | None) -> None:
    from contextlib import suppress

    from motiond.client import connect

    from ...api import ReportHub
    from ...config.client import brokers_of
    from ...fleet.gateway import Gateway, ended_by_signals
    from .fleet_table import SHOWN, FleetTable

    async with connect(brokers_of(mqtt)):  # a wrong broker is reported
        pass
    hub = ReportHub()
    site = Gateway(mqtt, hub, asks=False)

    def broker() -> str:
        return f"{site.uplink.address}: {'connected' if site.uplink.connected.is_set() else 'not connected'}"

    table = FleetTable(lambda: site.robots.robots, broker)
    with hub.subscribe(SHOWN, length=10_000) as reports:
        async with asyncio.TaskGroup() as tasks:
            helpers = [
                tasks.create_task(site.run(), name="fleet.site"),
                tasks.create_task(_show(table, reports, console), name="fleet.show"),
            ]
            ended = asyncio.Event()
            with ended_by_signals(ended), suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await ended.wait()
            for helper in helpers:
                helper.cancel()


async def _show(table: Any, reports: Any, console: "Console") -> None:
    from rich.live import Live

    if not console.is_terminal:
        while True:
            await asyncio.sleep(LINE_S)
            table.take_all(reports)
            console.print(table.line(), soft_wrap=True, markup=False, highlight=False)
    with Live(table, console=console, auto_refresh=False) as live:
        while True:
            table.take_all(reports)
            live.refresh()
            await asyncio.sleep(DRAW_S)
