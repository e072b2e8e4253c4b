"""What did this value do: Shapley values on one scale, which add up, with limits, from one plan for many rows."""
