"""The section `http` of the configuration: where the page is served, and who may use it."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from motiond.text import echoed

from .section import Section, SettingError
from .tls_files import check_tls_files
from .types import FilePath, Listen, Rate, SecretFile, split_place

HOST = r"^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$"
ORIGIN = r"^https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)(:[0-9]{1,5})?$"


def _as_browsers_send_it(value: Any) -> Any:
    """Return an origin in small letters and without the port that its scheme implies."""
    if not isinstance(value, str):
        return value
    if not re.fullmatch(ORIGIN, value):
        problem = f"'{echoed(value)}' is no origin; it is SCHEME://HOST or SCHEME://HOST:PORT and no more"
        raise SettingError("", f"{problem}; write it as in http://localhost:3000")
    return re.sub(r"^(http:.*):80$|^(https:.*):443$", r"\1\2", value.lower())


Origin = Annotated[str, Field(pattern=ORIGIN), BeforeValidator(_as_browsers_send_it)]


class HttpSettings(Section):
    """Where the page and the HTTP interface are served, and who may use them."""

    listen: Listen = "127.0.0.1:8080"
    """Address and port; beyond the loopback, a token is demanded."""
    token_file: SecretFile | None = None
    """File whose first line is the token that everybody has to show, or systemd's credential as `%d/NAME`."""
    cert_file: FilePath | None = None
    """Certificate, so that the page is served by TLS."""
    key_file: FilePath | None = None
    """Private key of that certificate."""
    hosts: Annotated[list[Annotated[str, Field(pattern=HOST)]], Field(max_length=100)] = Field(default=[])
    """Names by which browsers may call the daemon, besides its machine's name, addresses and `localhost`."""
    origins: Annotated[list[Origin], Field(max_length=100)] = Field(default=[])
    """Where your own pages come from that may do what the daemon's does, as `http://localhost:3000`."""
    telemetry_hz: Rate = 20.0
    """How often pages get telemetry; 0: never."""

    @property
    def address(self) -> tuple[str, int]:
        """The address to listen on and the port."""
        return split_place(self.listen)

    @property
    def url(self) -> str:
        """The page's address."""
        return f"{'https' if self.cert_file else 'http'}://{self.listen}/"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine's own programs reach the page."""
        host, _ = self.address
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.token_file is None and not self.is_loopback:
            reason = "whoever reaches it could move the robots"
            hint = "add token_file, or listen on 127.0.0.1"
            raise SettingError(
                "listen", f"'{self.listen}' is open to others without a token; {reason}; {hint}"
            )
        check_tls_files(None, self.cert_file, self.key_file)
        return self
