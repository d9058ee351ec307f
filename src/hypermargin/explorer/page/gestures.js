// Pointer, wheel and touch: one finger or the mouse drags, two fingers zoom, a double click or tap brings to the middle.

const STILL = 4; // pixels that a click may move
const DOUBLE = 320; // milliseconds between the clicks of a double one

/**
 * Calls handlers.{start(p), drag(from, to), end(), zoom(p, factor), click(p), double(p), hover(p), leave()} with
 * positions in pixels of the element. Returns a function that stops listening.
 */
export function listenToGestures(element, handlers) {
  const down = new Map();
  let from = null;
  let moved = false;
  let pinch = 0;
  let last = { time: -Infinity, at: [0, 0] };
  const stop = new AbortController();
  const at = (event) => {
    const box = element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const between = ([a, b]) => ({
    span: Math.hypot(a[0] - b[0], a[1] - b[1]),
    middle: [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2],
  });
  const on = (name, act, options = {}) => element.addEventListener(name, act, { signal: stop.signal, ...options });

  on("pointerdown", (event) => {
    if (event.button > 0) return;
    element.setPointerCapture(event.pointerId);
    down.set(event.pointerId, at(event));
    moved = down.size > 1;
    if (down.size === 1) handlers.start((from = at(event)));
    else pinch = between([...down.values()]).span;
  });
  on("pointermove", (event) => {
    const here = at(event);
    if (!down.has(event.pointerId)) {
      if (event.pointerType !== "touch") handlers.hover(here);
      return;
    }
    down.set(event.pointerId, here);
    if (down.size === 2) {
      const { span, middle } = between([...down.values()]);
      if (pinch > 0) handlers.zoom(middle, span / pinch);
      pinch = span;
    } else if (moved || Math.hypot(here[0] - from[0], here[1] - from[1]) > STILL) {
      moved = true;
      handlers.drag(from, here);
    }
  });
  const up = (event) => {
    if (!down.delete(event.pointerId)) return;
    if (down.size === 1) {
      // One finger of two is left: it drags on from where it is.
      [from] = down.values();
      handlers.start(from);
      return;
    }
    handlers.end();
    if (moved || event.type === "pointercancel") return;
    const here = at(event);
    const near = Math.hypot(here[0] - last.at[0], here[1] - last.at[1]) < 24;
    if (near && event.timeStamp - last.time < DOUBLE) {
      last = { time: -Infinity, at: here };
      handlers.double(here);
    } else {
      last = { time: event.timeStamp, at: here };
      handlers.click(here);
    }
  };
  on("pointerup", up);
  on("pointercancel", up);
  on("pointerleave", () => handlers.leave());
  on(
    "wheel",
    (event) => {
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
      handlers.zoom(at(event), Math.exp(-0.0016 * lines * event.deltaY));
    },
    { passive: false },
  );
  return () => stop.abort();
}
