"""Accuracy measured honestly: nested cross-validation of all models here and of peers, ranks, tests and pictures."""
