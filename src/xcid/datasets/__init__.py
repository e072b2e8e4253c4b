"""Two public tables that ship with the package, to try things on."""

from xcid.datasets.tables import Dataset, load_diabetes, load_heart

__all__ = ["Dataset", "load_diabetes", "load_heart"]
