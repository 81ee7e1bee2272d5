"""Certificates that are named in the configuration: from when until when they are valid."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ..config.certificates import NoCertificate, Validity, of_chain
from ..mqtt.client import files_of
from .report import Check, Verdict, nothing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ..config.http import HttpSettings
    from ..config.mqtt import MqttSettings

VERDICTS = {
    "": Verdict.OK,
    "soon": Verdict.WARNING,
    "expired": Verdict.FAILURE,
    "not yet": Verdict.FAILURE,
}


def check_certificates(mqtt: MqttSettings | None, http: HttpSettings | None) -> list[Check]:
    """Look at each file of certificates."""
    files = list(_files(mqtt, http))
    if not files:
        means = "what is encrypted is vouched for by the system's authorities"
        return [nothing("certificate", "the configuration names none", means)]
    return [_check(name, file, of) for name, file, of in files]


def _files(
    mqtt: MqttSettings | None, http: HttpSettings | None
) -> Iterator[tuple[str, Path, Callable[[Path], Validity]]]:
    if mqtt is not None:
        yield from files_of(mqtt)
    if http is not None and http.cert_file is not None:
        yield "http.cert_file", http.cert_file, of_chain


def _check(name: str, file: Path, of: Callable[[Path], Validity]) -> Check:
    try:
        validity = of(file)
    except NoCertificate as error:
        return Check(
            check="certificate",
            subject=f"{name} {file}",
            verdict=Verdict.FAILURE,
            found=str(error),
            means="the connection that needs it cannot be made",
            hint="name a file with a certificate in PEM",
        )
    return judged(f"{name} {file}", validity)


def judged(subject: str, validity: Validity) -> Check:
    """Return what is to be said of a certificate."""
    now = datetime.now(UTC)
    return Check(
        check="certificate",
        subject=subject,
        verdict=VERDICTS[validity.kind(now)],
        found=validity.found(now),
        means="who connects by it is refused once it has expired",
        hint=validity.hint(now),
        figures={"days_left": round((validity.ends - now).total_seconds() / 86400, 1)},
    )
