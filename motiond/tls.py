"""Why a certificate is not accepted, in words: by the reason of OpenSSL, and with what helps."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ssl import SSLCertVerificationError

# X509_V_ERR_…
_NOT_YET_VALID, _EXPIRED, _REVOKED = 9, 10, 23
_OTHER_HOST = (62, 64)  # by name, by address
_OF_ANOTHER_AUTHORITY = (2, 7, 18, 19, 20, 21)
_WRONG_PURPOSE = (24, 25, 26, 37, 79)
_TOO_WEAK = (66, 67, 68)


def why_distrusted(error: SSLCertVerificationError, url: str, ca_file: str, *, is_set: bool) -> str:
    """Return what is wrong with a certificate, as `has expired; …`, and what helps.

    `url`: how the place is called that names the host; `ca_file`: how the option is called that names the
    authority, and `is_set` whether it does. Of the clock there is the day alone: a message that differs each
    time would be logged each time.
    """
    code, problem = error.verify_code, error.verify_message
    if code in _OF_ANOTHER_AUTHORITY:
        hint = f"name the certificate of its authority as {ca_file}"
        if is_set:
            hint = f"{ca_file} holds another authority's; name the one that has signed it"
        return f"is not trusted ({problem}); {hint}"
    today = datetime.now(UTC).date()
    reason = {
        **dict.fromkeys(_OTHER_HOST, f"is for another host; name the host in {url} as it is there"),
        _NOT_YET_VALID: "is not valid yet; set this machine's clock, which is probably behind: "
        f"it shows {today}; then it is taken by itself",
        _EXPIRED: f"has expired; renew it, or set this machine's clock, which shows {today}",
        _REVOKED: "is revoked; let the server show another",
        **dict.fromkeys(_TOO_WEAK, f"is too weak for this system ({problem}); renew it with a stronger key"),
        **dict.fromkeys(_WRONG_PURPOSE, f"is not made for this ({problem}); issue one for a server"),
    }
    return reason.get(code, f"is not accepted ({problem}); issue it again")
