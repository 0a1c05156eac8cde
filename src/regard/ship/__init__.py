"""The doors: what leaves equals what was trained."""

from regard.ship.export import Export, export_run
from regard.ship.kept import certify_with_exports

__all__ = ["Export", "certify_with_exports", "export_run"]
