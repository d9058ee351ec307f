// The classes, to hide and to single out; and the models, to draw and to ask.
import { make, makeSvg } from "./dom.js";
import { MARKS, OUTLINES, classStyle, markOf } from "./marks.js";

export function markIcon(scene, index, isTest = false, size = 14) {
  const mark = MARKS[markOf(scene, index, isTest)];
  const outline = OUTLINES[mark];
  const ring = { fill: "none", stroke: classStyle(scene, index), "stroke-width": 0.4 };
  const style = { fill: classStyle(scene, index), stroke: "var(--hm-ink-soft)", "stroke-width": 0.15 };
  const shape = outline
    ? makeSvg("polygon", { points: outline.map((corner) => corner.join(",")).join(" "), ...style })
    : makeSvg("circle", mark === "ring" ? { r: 0.7, ...ring } : { r: 0.9, ...style });
  return makeSvg("svg", { viewBox: "-1.2 -1.2 2.4 2.4", width: size, height: size, "aria-hidden": "true" }, shape);
}

export function makeLegend(scene, explorer) {
  const sizes = new Array(scene.classes.length).fill(0);
  for (const label of scene.labels) sizes[label]++;
  const list = make("ul", { class: "hm-legend" });
  const rows = scene.classes.map((name, k) => {
    const row = make(
      "button",
      {
        type: "button",
        "aria-pressed": "true",
        title: "click: hide or show; double click: this one only",
        onclick: () => explorer.toggleClass(k),
        ondblclick: () => explorer.onlyClass(k),
        onpointerenter: (event) => event.pointerType !== "touch" && explorer.highlight(k),
        onpointerleave: () => explorer.highlight(-1),
      },
      markIcon(scene, k),
      make("span", { class: "hm-name" }, name),
      make("span", { class: "hm-count" }, sizes[k].toLocaleString("en")),
    );
    list.append(make("li", {}, row));
    return row;
  });
  const update = () => rows.forEach((row, k) => row.setAttribute("aria-pressed", String(!explorer.hidden.has(k))));
  const all = make("button", { type: "button", class: "hm-link", onclick: () => explorer.showAllClasses() }, "show all");
  const notes = make("p", { class: "hm-note" });
  if (scene.test) notes.append(markIcon(scene, 0), " training ", markIcon(scene, 0, true), " test   ");
  return { element: make("div", {}, list, make("p", { class: "hm-note" }, all), scene.test && notes), update };
}

export function makeModels(scene, explorer) {
  const list = make("ul", { class: "hm-models" });
  scene.models.forEach((model, k) => {
    const { colour, dashes, width } = explorer.lineStyle(k);
    const line = makeSvg("line", { x1: 1, x2: 27, y1: 6, y2: 6, stroke: colour, "stroke-width": width, "stroke-dasharray": dashes.join(" ") || null });
    const icon = makeSvg("svg", { width: 28, height: 12, "aria-hidden": "true" }, line);
    const shown = make("input", { type: "checkbox", checked: true, title: "draw its boundary", onchange: (event) => explorer.showBoundary(k, event.target.checked) });
    const asked = make("input", { type: "radio", name: "hm-asked", checked: k === 0, title: "ask this model", onchange: () => explorer.ask(k) });
    list.append(
      make("li", {}, make("label", {}, shown, icon, make("span", { class: "hm-name" }, model.name)), scene.models.length > 1 && make("label", { class: "hm-ask" }, asked, " ask")),
    );
  });
  const regions = make("input", { type: "checkbox", checked: explorer.showsRegions, onchange: (event) => explorer.setRegions(event.target.checked) });
  const margins = make("input", { type: "checkbox", checked: explorer.showsMargins, onchange: (event) => explorer.setMargins(event.target.checked) });
  const hasLines = scene.models.some((model) => model.normal || model.levels?.points.length);
  const element = make("div", {}, list, make("p", { class: "hm-note hm-toggles" }, make("label", {}, regions, " regions"), hasLines && make("label", {}, margins, " margins of ±1")));
  return { element, update: () => (regions.checked = explorer.showsRegions) };
}
