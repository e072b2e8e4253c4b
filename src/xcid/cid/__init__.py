"""The paper's system: perturbations that flip and that stay, a density of each feature in both, and d1 between them.

``generators`` make the two sets, ``densities`` estimate, ``distances`` compare; ``per_feature`` puts them together.
"""
