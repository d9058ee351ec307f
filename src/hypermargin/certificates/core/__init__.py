"""The trusted core: what a certificate is, and how that of a soft margin is checked. To be read in this order.

1. `proof`: cuts, regions and minorants, and the three facts that a proof rests on.
2. `sums`: the cuts as sums over the samples, with bounds on their errors. What makes them, where the samples are
   (compiled loops, devices, uncertainty sets), is plugged in from outside.
3. `soft_margin`: whether the regions cover everything, and the file format.
4. `compiled.intervals`: what each interval proves, in balls of doubles.
5. `objective`: bounds on the objective of an answer, the upper end beside the lower bound.
6. `certificate`, `statement` and `plain`: what all kinds of certificate share, what they state about which problem, and
   how they are written to files and read.

Besides NumPy and python-flint it imports `arithmetic`, `arrays` and `safe_io` of this package and nothing else: no
solver, no data pipeline, no other kind of certificate. `tests/test_architecture.py` bounds its size.
"""
