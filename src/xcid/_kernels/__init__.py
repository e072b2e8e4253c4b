"""Pure functions on arrays: the hot loops. They trust their input and know nothing of tables or models."""
