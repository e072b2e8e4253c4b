"""What did this value do: Shapley values of the log odds, in unit and with limits, from one plan for many rows."""
