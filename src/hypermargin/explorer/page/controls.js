// The parts of the page around the plane: what it is about, the buttons over it, the search, and how to move.
import { MODELS } from "./models.js";
import { findIds, idOf } from "./scene.js";
import { KEYS } from "./keys.js";
import { make } from "./dom.js";

export function makeHeading(explorer) {
  const { scene } = explorer;
  const facts = [`${scene.count.toLocaleString("en")} points`];
  if (scene.hasLabels) facts.push(`${scene.classes.length - (scene.unlabelled !== null)} classes`);
  if (scene.dim !== 2) facts.push(`${scene.dim} dimensions`);
  const parts = [make("h1", {}, scene.title), make("p", { class: "hm-note" }, facts.join(" · "))];
  if (scene.dim > 2) {
    const share = `${(100 * scene.share).toFixed(0)} %`;
    parts.push(
      make(
        "p",
        { class: "hm-notice" },
        `You see the best totally geodesic plane through the mean (tangent PCA, ${share} of the variance): every point where the plane is nearest to it, boundaries and certified balls where the plane meets them. Answers, margins and radii are those of all ${scene.dim} dimensions.`,
      ),
    );
  }
  return make("header", {}, ...parts);
}

export function makeToolbar(explorer) {
  const button = (label, title, act, extra = {}) => make("button", { type: "button", title, "aria-label": title, onclick: act, ...extra }, label);
  explorer.modelButtons = Object.entries(MODELS).map(([name, { title }]) =>
    button(title, `${title} model`, () => explorer.setModel(name), { "data-model": name, "aria-pressed": String(name === explorer.view.model) }),
  );
  return make(
    "div",
    { class: "hm-toolbar" },
    make("div", { class: "hm-group" }, ...explorer.modelButtons),
    make(
      "div",
      { class: "hm-group" },
      button("⌂", "back to the start (0)", () => explorer.reset()),
      button("+", "zoom in (+)", () => explorer.zoom(1.4)),
      button("−", "zoom out (−)", () => explorer.zoom(1 / 1.4)),
    ),
    make(
      "div",
      { class: "hm-group" },
      button("PNG", "save the picture as PNG", () => explorer.savePicture("png")),
      button("SVG", "save the picture as SVG", () => explorer.savePicture("svg")),
      button("◐", "light or dark", () => explorer.toggleTheme()),
    ),
  );
}

export function makeSearch(explorer) {
  const results = make("ul", { class: "hm-results" });
  explorer.search = make("input", {
    type: "search",
    placeholder: "search by id",
    "aria-label": "search by id",
    oninput: () => {
      const found = findIds(explorer.scene, explorer.search.value);
      results.replaceChildren(
        ...found.map((k) => make("li", {}, make("button", { type: "button", onclick: () => choose(k) }, idOf(explorer.scene, k)))),
      );
      if (!found.length && explorer.search.value.trim()) results.replaceChildren(make("li", { class: "hm-note" }, "no such id"));
    },
    onkeydown: (event) => {
      const [first] = findIds(explorer.scene, explorer.search.value, 1);
      if (event.key === "Enter" && first !== undefined) choose(first);
      if (event.key === "Escape") explorer.stage.focus();
    },
  });
  const choose = (k) => {
    results.replaceChildren();
    explorer.search.value = idOf(explorer.scene, k);
    explorer.select(k);
    explorer.centreSelected();
  };
  return make("div", { class: "hm-search" }, explorer.search, results);
}

export function makeHelp() {
  const rows = KEYS.flatMap(([keys, what]) => [make("dt", {}, keys), make("dd", {}, what)]);
  const mouse = "Drag to move the plane by an isometry, turn the wheel or pinch to zoom, click a point to choose it, double click to bring it to the middle. Drag from outside the disk to turn it.";
  return make("details", { class: "hm-card hm-help" }, make("summary", {}, "How to move"), make("p", { class: "hm-note" }, mouse), make("dl", {}, ...rows));
}
