"""hebi-py looks for modules on the machine's real networks."""

from __future__ import annotations

import pytest

pytest.importorskip("hebi", reason="hebi-py is not installed")

from motiond.drivers.base import DriverError
from motiond.drivers.registry import make_driver

ARM = ["base", "elbow"]


def test_looks_on_the_real_network_until_the_timeout() -> None:
    driver = make_driver("hebi", {"families": "No such family", "lookup_timeout_s": 0.2}, ARM)
    with pytest.raises(DriverError) as caught:
        driver.open()
    assert str(caught.value).startswith(
        "driver hebi: not found in 0.2 s: No such family/base, No such family/elbow; found "
    )
