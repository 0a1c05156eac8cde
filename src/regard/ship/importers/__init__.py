"""What was trained elsewhere comes in, and is a run like any other."""

from regard.ship.importers.importing import Imported, import_run

__all__ = ["Imported", "import_run"]
