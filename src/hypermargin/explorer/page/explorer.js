// The explorer: the page around the picture, and everything that changes what it shows.
import { apply, diskOfSpace, inverse } from "./mobius.js";
import { idOf, readScene } from "./scene.js";
import { pick } from "./picking.js";
import { listenToGestures } from "./gestures.js";
import { pressKey } from "./keys.js";
import { card, make } from "./dom.js";
import { makeLegend, makeModels } from "./legend.js";
import { describePoint } from "./details.js";
import { makeHeading, makeHelp, makeSearch, makeToolbar } from "./controls.js";
import { makePath } from "./path.js";
import { savePng, saveSvg } from "./export.js";
import { Painter } from "./painter.js";

const ANIMATION = 420; // milliseconds of a move to the middle

export function createExplorer(root, rawScene) {
  return new Explorer(root, readScene(rawScene));
}

class Explorer extends Painter {
  constructor(root, scene) {
    super(root, scene);
    this.mean = diskOfSpace(...scene.mean);
    this.listeners = [];
    this.build();
    this.readTheme();
    this.paint();
    this.loadRegions();
    this.watch();
    this.resize();
    this.path?.show(this.pathStep);
    this.describe();
  }

  // -- building ------------------------------------------------------------------------------------------------------

  build() {
    const { scene } = this;
    this.hint = make("div", { class: "hm-hint", hidden: true });
    this.stage = make(
      "div",
      { class: "hm-stage", tabindex: 0, role: "application", "aria-label": "the hyperbolic plane: drag it, or use the arrow keys" },
      this.ground,
      this.dots,
      this.above,
      makeToolbar(this),
      this.hint,
    );
    this.legend = makeLegend(scene, this);
    this.models = scene.models.length ? makeModels(scene, this) : null;
    this.path = scene.path ? makePath(scene, this) : null;
    this.point = make("div", { class: "hm-details", "aria-live": "polite" });
    this.panel = make(
      "aside",
      { class: "hm-panel" },
      makeHeading(this),
      card("Point", makeSearch(this), this.point),
      this.path && card("Path over C", this.path.element),
      this.models && card(scene.models.length > 1 ? "Models" : "Model", this.models.element),
      scene.hasLabels && card(`Classes (${scene.classes.length - (scene.unlabelled !== null)})`, this.legend.element),
      makeHelp(),
    );
    this.root.replaceChildren(this.stage, this.panel);
  }

  watch() {
    this.stops = [
      listenToGestures(this.stage, {
        start: () => {
          this.stopAnimation();
          this.before = this.view.isometry;
          this.stage.classList.add("hm-dragging");
        },
        drag: (from, to) => {
          this.hover(-1);
          this.view.drag(this.before, from, to);
          this.moved();
        },
        end: () => this.stage.classList.remove("hm-dragging"),
        zoom: (at, factor) => {
          this.view.zoomAt(...at, factor);
          this.moved();
        },
        click: (at) => this.select(this.pickAt(at, 14)),
        double: (at) => {
          const k = this.pickAt(at, 14);
          if (k >= 0) this.select(k);
          this.centreOn(k >= 0 ? this.pointOf(k) : this.dataPointAt(at));
        },
        hover: (at) => this.hover(this.pickAt(at, 10), at),
        leave: () => this.hover(-1),
      }),
    ];
    this.stage.addEventListener("keydown", (event) => {
      if (event.target !== this.stage || event.ctrlKey || event.metaKey || event.altKey) return;
      if (pressKey(event.key, event.shiftKey, this)) event.preventDefault();
    });
    const sizes = new ResizeObserver(() => this.resize());
    sizes.observe(this.stage);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const change = () => this.changedTheme();
    dark.addEventListener("change", change);
    this.stops.push(() => sizes.disconnect(), () => dark.removeEventListener("change", change));
  }

  // -- moving --------------------------------------------------------------------------------------------------------

  setModel(name) {
    this.view.setModel(name);
    for (const button of this.modelButtons) button.setAttribute("aria-pressed", String(button.dataset.model === name));
    this.redraw();
  }

  reset() {
    this.stopAnimation();
    this.view.reset();
    this.redraw();
  }

  zoom(factor) {
    this.view.zoomAt(this.view.width / 2, this.view.height / 2, factor);
    this.moved();
  }

  nudge(angle, distance) {
    this.view.nudge(angle, distance);
    this.moved();
  }

  rotate(angle) {
    this.view.rotate(angle);
    this.moved();
  }

  stopAnimation() {
    cancelAnimationFrame(this.animation);
  }

  /** Bring a point of the data to the middle along a geodesic. */
  centreOn(point) {
    this.stopAnimation();
    const { view } = this;
    const before = view.isometry;
    const offset = view.offset;
    const middle = view.homeOffset;
    const begin = performance.now();
    const quick = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const step = (now) => {
      const done = quick ? 1 : Math.min((now - begin) / ANIMATION, 1);
      const share = done * done * (3 - 2 * done);
      view.isometry = view.towards(before, point, share);
      view.offset = offset.map((value, k) => value + share * (middle[k] - value));
      this.draw();
      if (done < 1) this.animation = requestAnimationFrame(step);
    };
    step(begin);
  }

  centreSelected() {
    if (this.selected >= 0) this.centreOn(this.pointOf(this.selected));
  }

  // -- points --------------------------------------------------------------------------------------------------------

  /** The point of the data's own disk under a pixel. */
  dataPointAt(at) {
    return apply(inverse(this.view.isometry), this.view.pointAt(...at));
  }

  pickAt([px, py], reach) {
    return pick(this.view, this.scene, this.palette, px, py, reach);
  }

  hover(k, at) {
    if (k === this.hovered && k < 0) return;
    const changed = k !== this.hovered;
    this.hovered = k;
    this.hint.hidden = k < 0;
    if (k >= 0) {
      if (changed) this.hint.replaceChildren(describePoint(this.scene, k, this.scene.models[this.asked]));
      const { width, height } = this.view;
      const left = at[0] > width / 2;
      const low = at[1] > height / 2;
      this.hint.style.left = left ? "auto" : `${at[0] + 16}px`;
      this.hint.style.right = left ? `${width - at[0] + 16}px` : "auto";
      this.hint.style.top = low ? "auto" : `${at[1] + 16}px`;
      this.hint.style.bottom = low ? `${height - at[1] + 16}px` : "auto";
    }
    if (changed) this.remark();
  }

  select(k) {
    this.selected = k;
    this.describe();
    for (const listener of this.listeners) listener(k < 0 ? "" : idOf(this.scene, k));
    this.remark();
  }

  selectId(id) {
    for (let k = 0; k < this.scene.count; k++) {
      if (idOf(this.scene, k) !== id) continue;
      if (k !== this.selected) this.select(k);
      return;
    }
  }

  onSelect(listener) {
    this.listeners.push(listener);
  }

  describe() {
    const chosen = this.selected >= 0;
    this.point.replaceChildren(
      chosen
        ? describePoint(this.scene, this.selected, this.scene.models[this.asked])
        : make("p", { class: "hm-note" }, "Point at one for a short answer, click it for all that is known."),
    );
  }

  // -- what is shown -------------------------------------------------------------------------------------------------

  toggleClass(k) {
    if (!this.hidden.delete(k)) this.hidden.add(k);
    this.changedClasses();
  }

  onlyClass(k) {
    this.hidden = new Set(this.scene.classes.keys());
    this.hidden.delete(k);
    this.changedClasses();
  }

  showAllClasses() {
    this.hidden.clear();
    this.changedClasses();
  }

  highlight(k) {
    this.highlighted = k;
    this.changedClasses();
  }

  changedClasses() {
    this.paint();
    this.legend.update();
    this.redraw();
  }

  showBoundary(k, visible) {
    if (visible) this.shown.add(k);
    else this.shown.delete(k);
    this.remark();
  }

  ask(k) {
    this.asked = k;
    this.loadRegions();
    this.describe();
    this.redraw();
  }

  setRegions(visible) {
    this.showsRegions = visible;
    this.loadRegions();
    this.models?.update();
    this.redraw();
  }

  setMargins(visible) {
    this.showsMargins = visible;
    this.remark();
  }

  setPathStep(k) {
    this.pathStep = k;
    this.redraw();
  }

  focusSearch() {
    this.search.focus();
    this.search.select();
  }

  toggleTheme() {
    this.chosenTheme = this.theme.isDark ? "light" : "dark";
    this.changedTheme();
  }

  changedTheme() {
    this.readTheme();
    this.paint();
    this.redraw();
  }

  savePicture(kind) {
    if (kind === "png") savePng(this.flat(), "hyperbolic.png");
    else saveSvg(this.svg(), "hyperbolic.svg");
  }

  close() {
    for (const stop of this.stops) stop();
    this.path?.close();
    this.stopAnimation();
    this.renderer.close();
    this.root.replaceChildren();
  }
}
