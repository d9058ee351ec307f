"""Fitted attributes that are made when somebody asks for them."""

from typing import Any


class Late:
    """A fitted attribute that `_answers` makes when it is first asked for, under another name."""

    def __init__(self, source: str):
        self.source = source

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self
        if "_answers" not in vars(model):
            raise AttributeError(f"this {type(model).__name__} is not fitted, so it has no {self.source}")
        return getattr(model._answers, self.source)
