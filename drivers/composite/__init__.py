"""Several drivers as one robot's."""

from .driver import CompositeDriver

__all__ = ["CompositeDriver"]
