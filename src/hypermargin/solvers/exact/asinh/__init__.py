"""The asinh objective to proven global optimality: branch and bound over boxes of w (docs/asinh.md)."""
