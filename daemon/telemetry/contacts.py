"""What touches: contacts of records, by the names of the bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.drivers import CONTACT

from ..ipc.ring import contacts_of, named_contacts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.formats.arrays import Floats


class ContactPeaks:
    """The contacts since `take`, those of each two bodies as they were at their strongest.

    `joints`: how many joints the records hold.
    """

    def __init__(self, joints: int) -> None:
        self._joints = joints
        self._strongest: Floats = np.empty((0, CONTACT))

    def add(self, records: Floats) -> None:
        """Take records, shape (records, width)."""
        contacts = contacts_of(records, self._joints)
        touching = contacts[np.isfinite(contacts[..., 0])]
        if not len(touching):
            return
        contacts = np.concatenate([self._strongest, touching])
        contacts = contacts[np.argsort(-np.linalg.norm(contacts[:, 5:], axis=1), kind="stable")]
        _, first = np.unique(contacts[:, :2], axis=0, return_index=True)
        self._strongest = contacts[first]

    def take(self, bodies: Sequence[str]) -> list[dict[str, Any]]:
        """Return the contacts and begin again; `bodies`: the names, by number.

        Before the names are known, which come a moment after the first records, the contacts are kept.
        """
        if not bodies:
            return []
        contacts, self._strongest = self._strongest, self._strongest[:0]
        return named_contacts(contacts, bodies)
