"""Density estimators: ``density(values, positive, negative) -> DensityPair``, batched over leading axes.

Any function with that signature is one. ``Kernel`` is the paper's, ``Discrete`` counts levels, ``Mixed`` gives values
that pile up an atom of their own and the rest a kernel. ``Joint`` is for the columns of a group.
"""
