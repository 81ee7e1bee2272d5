"""Names the certificates of the connection to the broker that end soon, have ended or are not valid yet."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from ...config.certificates import CertificateLog, NoCertificate, Validity, of_authorities, of_chain, of_der
from .address import address_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ...config.mqtt import MqttSettings
    from .connection import MqttConnection

LOOK_S = 3600.0


class CertificateWatch:
    """Logs the certificates by which one daemon or page reaches its brokers."""

    def __init__(self, settings: MqttSettings) -> None:
        self._settings = settings
        self._log = CertificateLog()

    async def run(self) -> NoReturn:
        """Look at the files now and each hour; they may be renewed meanwhile."""
        while True:
            for name, file, of in files_of(self._settings):
                with suppress(NoCertificate):  # the connection reports it
                    self._log.report(f"{name} {file}", await asyncio.to_thread(of, file))
            await asyncio.sleep(LOOK_S)

    def see(self, client: MqttConnection, broker: MqttSettings) -> None:
        """Look at the certificate that a broker has shown."""
        if client.attempt.certificate is not None:
            with suppress(NoCertificate):
                self._log.report(str(address_of(broker)), of_der(client.attempt.certificate))


def files_of(settings: MqttSettings) -> Iterator[tuple[str, Path, Callable[[Path], Validity]]]:
    """Yield the files of certificates: option, file, and what reads it."""
    if settings.ca_file is not None:
        yield "mqtt.ca_file", settings.ca_file, of_authorities
    if settings.cert_file is not None:
        yield "mqtt.cert_file", settings.cert_file, of_chain
