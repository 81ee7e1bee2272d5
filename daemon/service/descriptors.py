"""How many files the daemon may have open: as many as the system lets it, within reason."""

from __future__ import annotations

import logging
import resource

log = logging.getLogger(__name__)

MOST = 65_536
"""Far more than a daemon needs; some programs go through all numbers up to the limit when they start."""


def raise_limit() -> None:
    """Raise the soft limit of open descriptors to the hard one; the usual 1024 is for users of `select`.

    Each motion that is kept in memory and each connection takes one. A limit that cannot be raised stays.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST if hard == resource.RLIM_INFINITY else min(hard, MOST)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError) as error:
        log.warning("the limit of open files stays at %d; %s; set LimitNOFILE", soft, error)
