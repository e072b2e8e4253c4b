"""Methods on the same rows of the same model: figures, as text and as a picture."""
