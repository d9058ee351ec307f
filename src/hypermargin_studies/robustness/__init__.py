"""The robustness experiment: does training with uncertainty sets help, and against what?"""
