"""One way in and one way out: tables, models and saved explanations, checked as they are read."""
