"""What stands alone in a group of errors is found."""

from __future__ import annotations

from motiond.daemon.cli.streams import Unwritable, cause_of


def test_the_cause_stands_alone_in_its_groups() -> None:
    cause = Unwritable("stdout")
    assert cause_of(ExceptionGroup("outer", [ExceptionGroup("inner", [cause])])) is cause
    several = ExceptionGroup("several", [cause, ValueError()])
    assert cause_of(several) is several
