"""The examples and tests on the documentation's page on SDFormat."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from motiond.formats import FormatError, load_robots, sdf
from motiond.formats.io.source import Source

PAGE = (Path(__file__).parents[3] / "docs" / "formats" / "sdf.md").read_text(encoding="utf-8")
BAD = Path(__file__).parents[2] / "files" / "bad" / "sdf"


def test_example_on_the_page_is_read() -> None:
    example = PAGE.split("```xml\n")[1].split("```")[0]
    crane = sdf.load(example.encode(), Source(Path("crane.sdf")))[0]
    assert (crane.name, crane.dof, crane.warnings) == ("crane", 1, ())
    hook = crane.forward_kinematics([np.pi / 2])["hook"]
    np.testing.assert_allclose(hook[:3, 3], [0, 1.5, 1.2], atol=1e-12)


def test_refusals_on_the_page_are_real() -> None:
    shown = [line.strip() for line in PAGE.splitlines() if line.startswith("crane.sdf:")]
    with pytest.raises(FormatError) as refused:
        load_robots(BAD / "page.sdf")
    assert str(refused.value).replace(str(BAD / "page.sdf"), "crane.sdf").splitlines() == shown
