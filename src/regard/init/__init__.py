"""`regard init`: looks at data and writes a complete, commented recipe for it."""

from regard.init.read import read_data

__all__ = ["read_data"]
