"""Every public name of version 0.1 is still there and takes the parameters that it took, with the same defaults.

``python tests/test_public_names.py`` writes the list anew: after names were added, never to make the test green.
"""

import inspect
import json
from importlib import import_module
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("public_names.json")


def signature_of(thing: object) -> dict[str, str] | None:
    """Parameters by name with their defaults as text; None for what is not called."""
    if not callable(thing):
        return None
    try:
        parameters = inspect.signature(thing).parameters.values()
    except ValueError:  # built in
        return None
    return {p.name: "" if p.default is inspect.Parameter.empty else repr(p.default) for p in parameters}


def methods_of(thing: object) -> dict[str, dict[str, str]]:
    """Signatures of the public methods of a class, and None for each of its properties."""
    if not inspect.isclass(thing):
        return {}
    classes = [base for base in thing.__mro__ if base.__module__.startswith("hypermargin")]  # scikit-learn's own change
    own = sorted({name for base in classes for name in vars(base) if not name.startswith("_")})
    own = [name for name in own if not name.endswith("_request")]  # made by scikit-learn
    return {name: signature_of(getattr(thing, name, None)) for name in own}


def public_names() -> dict[str, dict]:
    import hypermargin

    found = {}
    for package in ("hypermargin", *(f"hypermargin.{name}" for name in hypermargin.PACKAGES)):
        module = import_module(package)
        own = [name for name, thing in vars(module).items() if getattr(thing, "__module__", None) == package]
        for name in getattr(module, "__all__", [name for name in own if not name.startswith("_")]):
            thing = getattr(module, name)
            found[f"{package}.{name}"] = {"parameters": signature_of(thing), "methods": methods_of(thing)}
    return found


def missing(then: dict[str, str] | None, now: dict[str, str] | None) -> list[str]:
    """What calls of then would find changed."""
    if then is None:
        return []
    if now is None:
        return ["it cannot be called"]
    added = [name for name in now if name not in then and now[name] == "" and name not in ("args", "kwargs")]
    return [
        *(f"{name} is gone" for name in then if name not in now),
        *(f"{name} is {now[name]}, was {old}" for name, old in then.items() if name in now and now[name] != old),
        *(f"{name} is new and has no default" for name in added),
    ]


FROZEN = json.loads(LIST.read_text(encoding="utf-8")) if LIST.exists() else {}


@pytest.mark.parametrize("name", FROZEN)
def test_public_names_take_what_they_took(name):
    package, _, short = name.rpartition(".")
    thing = getattr(import_module(package), short)
    assert missing(FROZEN[name]["parameters"], signature_of(thing)) == []
    methods = methods_of(thing)
    assert FROZEN[name]["methods"].keys() <= methods.keys()
    changed = {m: missing(then, methods[m]) for m, then in FROZEN[name]["methods"].items()}
    assert {m: what for m, what in changed.items() if what} == {}


def test_changes_of_signatures_are_found():
    then = {"X": "", "C": "1.0"}
    assert missing(then, {"X": "", "C": "1.0", "more": "None"}) == []
    assert missing(then, {"X": ""}) == ["C is gone"]
    assert missing(then, {"X": "", "C": "2.0"}) == ["C is 2.0, was 1.0"]
    assert missing(then, {"X": "", "C": "1.0", "more": ""}) == ["more is new and has no default"]


if __name__ == "__main__":
    LIST.write_text(json.dumps(public_names(), indent=0, sort_keys=True) + "\n", encoding="utf-8")
