"""Counterfactual generators: ``generator(rows, keys, space, member) -> Perturbations``.

``rows`` (n, d) are perturbed, ``keys`` (n,) seed each row's own random numbers, ``space`` tells what the features are,
and ``member(samples (N, d), owner (N,)) -> (N,)`` calls the model and tells which samples flip the output of their row.
Any function with that signature is a generator.
"""
