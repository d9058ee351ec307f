"""The certificate of a bound for the asinh objective, and the code that checks it. Nothing here imports a solver."""
