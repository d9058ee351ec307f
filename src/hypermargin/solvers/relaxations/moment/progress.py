"""A line that shows how far a long solve has come."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

Callback = Callable[[int, dict[str, float]], None]


@contextmanager
def progress(show: bool, callback: Callback | None) -> Iterator[Callback | None]:
    """Yields the callback to hand to the solver: the caller's own, and a line on standard error where `show` is set."""
    if not show:
        yield callback
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("moment relaxation", total=None)

        def update(iteration: int, figures: dict[str, float]) -> None:
            text = f"iteration {iteration}: gap {figures['gap']:.1e}, infeasibility {figures['infeasibility']:.1e}"
            bar.update(task, description=text)
            if callback is not None:
                callback(iteration, figures)

        yield update
