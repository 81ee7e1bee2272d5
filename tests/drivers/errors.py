"""What drivers say when they refuse or fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


def message_of(kind: type[Exception], call: Callable[..., object], *arguments: Any, **named: Any) -> str:
    """Return the message of the error that a call raises."""
    with pytest.raises(kind) as caught:
        call(*arguments, **named)
    return str(caught.value)
