"""How xcid is measured: speed, the paper's figures, other methods. Only the command line imports it."""
