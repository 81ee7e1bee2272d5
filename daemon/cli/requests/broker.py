"""How a subcommand that asks a daemon finds the daemon's broker: its options, and what stands for them."""

import inspect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..output import DEFAULT_CONFIG, DONE, as_listed, report

if TYPE_CHECKING:
    from pydantic import ValidationError

    from motiond.client import Daemon
    from motiond.local import DaemonHere

    from ...config.mqtt import MqttSettings
    from ...config.section import ConfigError

Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        envvar="MOTIOND_CONFIG",
        readable=False,  # who reads it says so, and a stop does without
        help=f"The daemon's configuration, which names the broker; {DEFAULT_CONFIG} if there is one.",
    ),
]
Broker = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="MOTIOND_BROKER",
        help="The broker, in place of the configuration's: mqtt[s]://host[:port] or ws[s]://….",
    ),
]
Base = Annotated[
    str | None, typer.Option(metavar="TOPIC", help="First part of every topic; the configuration's.")
]
CaFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="Certificates that an mqtts:// broker's is checked against.",
    ),
]
OPTIONS = {"config": Config, "broker": Broker, "base": Base, "ca_file": CaFile}


@dataclass(frozen=True, slots=True)
class Client:
    """The options that find the broker."""

    config: Path | None = None  # of `-c`, else of $MOTIOND_CONFIG
    broker: str | None = None
    base: str | None = None
    ca_file: Path | None = None
    typed: frozenset[str] = frozenset()  # the options that stand on the command line itself

    def connect(self, verb: str, *, is_asked_here: bool = True) -> "Daemon":
        """Return a client of the daemon on this machine, by its socket, and else of its brokers.

        Raises
        ------
        ConfigError
            If the configuration has to be read, and cannot be used.
        typer.BadParameter
            If an option cannot.
        """
        from motiond import local
        from motiond.client import connect

        holder, config = local.own_holder(verb), self.own_config
        if is_asked_here and config is not None and local.daemon_of(config):
            return connect(config=config, holder=holder)
        from ...config.client import brokers_of

        return connect(brokers_of(self.mqtt()), holder=holder)

    def mqtt(self) -> "MqttSettings":
        """Return how to reach the broker; one named by its URL is spoken to in 3.1.1, which all understand.

        Raises
        ------
        ConfigError
            If the configuration cannot be used.
        typer.BadParameter
            If an option cannot.
        """
        return self._with_options(self._configured())

    def known_mqtt(self, *, asks_here: bool = False) -> "tuple[MqttSettings, Path | None]":
        """Return how to reach the broker as far as is known, for what no broken configuration may prevent.

        A configuration that cannot be used is reported on stderr, and returned: what it says of the broker is
        then as in none. Where `--broker` and `--base` say all, it is not read.

        Raises
        ------
        typer.BadParameter
            If an option cannot be used.
        """
        from ...config.mqtt import MqttSettings
        from ...config.section import ConfigError

        if self.broker is not None and self.base is not None:
            return self._with_options(MqttSettings()), None
        try:
            return self._with_options(self._configured()), None
        except ConfigError as error:
            settings = self._with_options(MqttSettings(), encrypts=self.broker is not None)
            with suppress(OSError):  # whether or not somebody can read it
                report(self._guessed(settings, error, asks_here=asks_here), DONE)
        return settings, self.config or DEFAULT_CONFIG

    def _guessed(self, settings: "MqttSettings", error: "ConfigError", *, asks_here: bool) -> str:
        """Report that the configuration is not read, and who is asked then."""
        from ...mqtt.client import address_of

        what = str(error.problems[0])
        asked = f"{address_of(settings)} is asked"
        if self.broker is not None:
            asked += f", by topics below '{settings.base}'"
        elif asks_here and self.own_config is not None:
            asked = f"its daemon on this machine is asked, and else {address_of(settings)}"
        return f"{what}; the configuration is not read, so {asked}"

    def _with_options(self, settings: "MqttSettings", *, encrypts: bool = True) -> "MqttSettings":
        from pydantic import ValidationError

        from ...config.mqtt import MqttSettings
        from ...config.secrets import has_password

        base, broker = (text and as_listed(text) for text in (self.base, self.broker))
        options: dict[str, Any] = {"base": base, "ca_file": self.ca_file if encrypts else None}
        options = {option: value for option, value in options.items() if value is not None}
        if broker is not None:
            options = {"broker": broker, "base": settings.base, "protocol": "3.1.1"} | options
        elif options:
            options = settings.model_dump(exclude_unset=True) | options
        else:
            return settings
        try:
            mqtt = MqttSettings(**options)
        except ValidationError as error:
            key, reason = first_problem(error)
            by_environment = key == "broker" and "broker" not in self.typed
            hint = "$MOTIOND_BROKER" if by_environment else option_of(key)
            raise typer.BadParameter(reason, param_hint=hint) from error
        if "broker" in self.typed and has_password(mqtt.url):
            seen = "its password is seen by every user of this machine, as in `ps`"
            hint = "set $MOTIOND_BROKER, or name a configuration with password_file"
            raise typer.BadParameter(f"{seen}; {hint}", param_hint="--broker")
        return mqtt

    @property
    def own_config(self) -> Path | None:
        """The configuration of a daemon that may run on this machine; None where only its broker is named."""
        if self.broker is not None or self.base is not None:
            return None
        return self.config or default_config()

    def daemons_here(self) -> "list[DaemonHere]":
        """Return how the daemons of this machine that are meant are reached."""
        if self.broker is not None or self.base is not None:
            return []
        from motiond.local import daemons_here

        return daemons_here(self.own_config)

    def _configured(self) -> "MqttSettings":
        from ...config.mqtt import MqttSettings

        config = self.config or default_config()
        if config is None:
            return MqttSettings()
        from ...config.client import load_mqtt_settings

        return load_mqtt_settings(config)


def default_config() -> Path | None:
    """Return the configuration that is taken where none is named; None where there is none."""
    try:
        return DEFAULT_CONFIG if DEFAULT_CONFIG.is_file() else None
    except OSError:  # its folder may not be looked into, and reading it reports why
        return DEFAULT_CONFIG


def asks_a_daemon(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a subcommand the options that find the broker; it gets them as its parameter `client`."""

    @wraps(command)
    def asking(*, context: typer.Context, **arguments: Any) -> Any:
        options = {name: arguments.pop(name) for name in OPTIONS}
        typed = frozenset(name for name in options if _is_typed(context, name))
        if "config" in typed and "broker" not in typed:
            options["broker"] = None  # what is typed says more than what the environment says
        return command(**arguments, client=Client(**options, typed=typed))

    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [one for one in inspect.signature(command).parameters.values() if one.name != "client"]
    parameters = [
        inspect.Parameter("context", keyword, annotation=typer.Context),
        *(one.replace(kind=keyword) for one in own),
        *(inspect.Parameter(name, keyword, default=None, annotation=kind) for name, kind in OPTIONS.items()),
    ]
    asking.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # what typer reads
    asking.__annotations__ = {one.name: one.annotation for one in parameters}
    return asking


def _is_typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def first_problem(error: "ValidationError") -> tuple[str, str]:
    """Return the key of a section that is wrong, and why."""
    first = error.errors()[0]
    own = first.get("ctx", {}).get("error")
    return str((getattr(own, "at", ()) or first["loc"])[0]), str(own or first["msg"])


def option_of(name: str) -> str:
    """Return how a parameter is written on the command line."""
    return f"--{name.replace('_', '-')}"
