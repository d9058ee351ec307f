"""The widget of Jupyter: the same modules with a handle for the notebook, run in a browser against a stub of one."""

import json
import sys

import pytest

from hypermargin import HyperbolicSVC, explore

#: What a notebook's front end does with a widget, as far as it matters here.
HOST = """<!doctype html><meta charset="utf-8"><body><div id="explorer"></div><script type="module">
const state = SCENE;
const listeners = {};
globalThis.model = {
  get: (name) => state[name],
  set: (name, value) => { state[name] = value; listeners[`change:${name}`]?.(); },
  save_changes: () => { globalThis.saved = state.selected; },
  on: (name, act) => { listeners[name] = act; },
};
const module = await import(URL.createObjectURL(new Blob([ESM], { type: "text/javascript" })));
globalThis.stop = module.default.render({ model, el: document.getElementById("explorer") });
document.getElementById("explorer").dataset.ready = "true";
</script></body>"""


@pytest.fixture
def made(two_classes):
    X, y, ids = two_classes
    return explore(HyperbolicSVC().fit(X, y), X, y, ids=ids)


def test_the_widget_draws_and_tells_what_was_chosen(browser, made, tmp_path):
    pytest.importorskip("anywidget")
    widget = made.widget
    state = json.dumps({"scene": widget.scene, "selected": widget.selected}).replace("<", "\\u003c")
    esm = json.dumps(widget._esm if isinstance(widget._esm, str) else str(widget._esm)).replace("<", "\\u003c")
    page = tmp_path / "host.html"
    page.write_text(HOST.replace("SCENE", state).replace("ESM", esm), encoding="utf-8")
    browser.open(page)
    assert browser.evaluate("document.querySelectorAll('.hm-legend button').length") == 2
    browser.evaluate("model.set('selected', 'cell 017')")
    assert "cell 017" in browser.evaluate("document.querySelector('.hm-details').textContent")
    assert browser.evaluate("saved") == "cell 017"
    browser.evaluate("stop()")
    assert browser.evaluate("document.querySelectorAll('.hm-stage').length") == 0


def test_a_notebook_gets_the_widget_or_else_the_page(made, monkeypatch):
    pytest.importorskip("anywidget")
    bundle = made._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "application/vnd.jupyter.widget-view+json" in data
    del made.__dict__["widget"]
    monkeypatch.setitem(sys.modules, "anywidget", None)  # as if it were not installed
    assert made._repr_mimebundle_()["text/html"].startswith("<iframe srcdoc=")
    with pytest.raises(ImportError, match=r"hypermargin\[widget\]"):
        _ = made.widget
