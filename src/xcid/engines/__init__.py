"""Engines: where the blocks of rows are explained. ``engine(explainer, X, seed=0) -> Explanation``."""

from xcid.engines.threads import Threads

__all__ = ["Threads"]
