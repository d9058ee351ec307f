// The layers of the picture and the state they show: ground, regions and points, boundaries, what is marked.
import { boostToOrigin, diskOfSpace } from "./mobius.js";
import { View } from "./view.js";
import { GlRenderer, paletteEntry } from "./webgl.js";
import { CanvasRenderer } from "./canvas_points.js";
import { drawOnCanvas } from "./display_list.js";
import { boundaryLayer, edgesLayer, groundLayer, pointLayer, pointsLayer, rimLayer, rivalPoint } from "./layers.js";
import { answerAt, readRegions } from "./scene.js";
import { make } from "./dom.js";
import { colourOf, liftedColour, rgb } from "./marks.js";
import { asMarks, flatten, svgText } from "./export.js";

const DIM = 36; // alpha of the classes that are not singled out
const SLOW_FRAME = 45; // milliseconds
const QUICK_FRAME = 22;
const REST = 160; // milliseconds after a movement
const LEAST_SHARE = 0.1; // of the points, while moving

/** What the notebook around a widget says, or else the reader's system. */
function surroundingTheme() {
  const notebook = document.body.dataset.jpThemeLight;
  const isDark = notebook ? notebook === "false" : matchMedia("(prefers-color-scheme: dark)").matches;
  return isDark ? "dark" : "light";
}

export class Painter {
  constructor(root, scene) {
    this.root = root;
    this.scene = scene;
    this.view = new View(boostToOrigin(diskOfSpace(...scene.start)));
    this.hidden = new Set();
    this.highlighted = -1;
    this.hovered = -1;
    this.selected = -1;
    this.asked = 0; // the model whose answers and regions are shown
    this.shown = new Set(scene.models.keys());
    this.showsRegions = true;
    this.showsMargins = true;
    this.pathStep = scene.path ? scene.path.start : -1;
    this.frame = 0;
    this.lastFrame = 0;
    this.share = 1;
    [this.ground, this.dots, this.above] = [0, 1, 2].map(() => make("canvas", { "aria-hidden": "true" }));
    this.renderer =
      GlRenderer.make(this.dots, scene) ??
      new CanvasRenderer(this.dots, () => pointsLayer(this.view, scene, this.palette, this.pointSize, this.theme));
  }

  pointOf(k) {
    return [this.scene.points[2 * k], this.scene.points[2 * k + 1]];
  }

  readTheme() {
    this.root.dataset.theme = this.chosenTheme ?? surroundingTheme();
    const style = getComputedStyle(this.root);
    const value = (name) => style.getPropertyValue(`--hm-${name}`).trim();
    const names = ["page", "plane", "rim", "grid", "ink"];
    this.theme = Object.fromEntries(names.map((name) => [name, value(name)]));
    this.theme.pointEdge = value("point-edge");
    this.theme.testEdge = value("test-edge");
    this.theme.strength = Number(value("region-strength"));
    this.theme.isDark = value("is-dark") === "1";
    this.scene.palette.forEach((colour, k) => {
      this.root.style.setProperty(`--hm-class-${k}`, this.theme.isDark ? liftedColour(colour) : colour);
    });
  }

  classColour(k) {
    const colour = colourOf(this.scene, k);
    return this.theme.isDark ? liftedColour(colour) : colour;
  }

  /** Colours of the classes, with those hidden or put in the background. */
  paint() {
    this.palette = this.scene.classes.map((_, k) => {
      const alpha = this.hidden.has(k) ? 0 : this.highlighted >= 0 && this.highlighted !== k ? DIM : 255;
      return paletteEntry(this.classColour(k), alpha);
    });
    this.renderer.setPalette(this.palette);
  }

  loadRegions() {
    const model = this.scene.models[this.asked];
    this.renderer.setRegions(model && this.showsRegions ? readRegions(model) : null);
  }

  resize() {
    const { clientWidth, clientHeight } = this.stage; // the element that holds the layers
    if (!clientWidth || !clientHeight) return;
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.view.resize(clientWidth, clientHeight);
    for (const canvas of [this.ground, this.dots, this.above]) {
      canvas.width = Math.round(clientWidth * this.ratio);
      canvas.height = Math.round(clientHeight * this.ratio);
    }
    this.draw();
  }

  /** Draw at the next frame. */
  redraw() {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.draw());
  }

  /** Draw at the next frame of a movement: where frames are slow, fewer points, and all of them when it has ended. */
  moved() {
    if (this.frame) return;
    this.frame = requestAnimationFrame((now) => {
      const since = now - this.lastFrame;
      this.lastFrame = now;
      if (since > SLOW_FRAME && since < 8 * SLOW_FRAME) this.share = Math.max(0.6 * this.share, LEAST_SHARE);
      else if (since < QUICK_FRAME) this.share = Math.min(1.2 * this.share, 1);
      this.draw(this.share);
      clearTimeout(this.rest);
      if (this.share < 1) this.rest = setTimeout(() => this.draw(), REST);
    });
  }

  /** Draw what lies above the points, at the next frame. */
  remark() {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.drawAbove());
  }

  get pointSize() {
    const room = Math.min(Math.max(Math.min(this.view.width, this.view.height) / 640, 0.8), 1.4);
    return room * Math.min(Math.max(300 / Math.sqrt(this.scene.count), 3.2), 13) * Math.min(this.view.zoom, 6) ** 0.25;
  }

  /** A line style of the scene; black is not seen on dark ground, so there it is the colour of the ink. */
  lineStyle(k) {
    const { lineStyles } = this.scene;
    const style = lineStyles[k % lineStyles.length];
    const colour = k % lineStyles.length === 0 ? "var(--hm-ink)" : style.colour;
    return { colour, width: style.width, dashes: style.dashes.map((length) => length * style.width) };
  }

  boundaries() {
    const { scene, view } = this;
    const items = [];
    for (const k of this.shown) {
      const style = this.lineStyle(k);
      if (k % scene.lineStyles.length === 0) style.colour = this.theme.ink;
      const boundary = k === 0 && scene.path ? scene.path.steps[this.pathStep] : scene.models[k];
      items.push(...boundaryLayer(view, boundary, style, this.showsMargins && k === this.asked));
    }
    return items;
  }

  /** Whether the slider over C, where there is one, is at the model's own. */
  get atOwnC() {
    return !this.scene.path || this.pathStep === this.scene.path.start;
  }

  /** What lies below the points. */
  below(share = 1) {
    return [...groundLayer(this.view, this.theme), ...edgesLayer(this.view, this.scene, this.palette, this.theme, share)];
  }

  overlay() {
    return [...rimLayer(this.view, this.theme), ...this.boundaries(), ...this.marked()];
  }

  marked() {
    const items = [];
    const model = this.scene.models[this.asked];
    for (const k of new Set([this.selected, this.hovered])) {
      if (k < 0) continue;
      const answer = model && answerAt(model, k);
      items.push(...pointLayer(this.view, this.pointOf(k), answer, this.classColour(answer ? answer.predicted : this.scene.labels[k]), this.theme));
    }
    return items;
  }

  pointStyle() {
    const edge = (colour) => [...rgb(colour.slice(0, 7)).map((value) => value / 255), colour.length > 7 ? parseInt(colour.slice(7), 16) / 255 : 1];
    return {
      ratio: this.ratio,
      size: this.pointSize,
      edge: edge(this.theme.pointEdge),
      testEdge: edge(this.theme.testEdge),
      strength: this.asked === 0 && !this.atOwnC ? 0 : this.theme.strength, // regions are those of the model's own C
    };
  }

  draw(share = 1) {
    this.drawLayer(this.ground, this.below(share));
    this.renderer.draw(this.view, { ...this.pointStyle(), share });
    this.drawAbove();
  }

  drawAbove() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.drawLayer(this.above, this.overlay());
  }

  drawLayer(canvas, items) {
    const context = canvas.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.view.width, this.view.height);
    drawOnCanvas(context, items);
  }

  flat() {
    this.draw();
    return flatten(this.view, this.ratio, this.theme, [this.ground, this.dots, this.above]);
  }

  svg() {
    const marks = asMarks(this.scene.count);
    this.renderer.draw(this.view, { ...this.pointStyle(), withPoints: !marks });
    const image = this.renderer instanceof GlRenderer && (this.showsRegions || !marks) ? this.dots.toDataURL("image/png") : null;
    this.draw();
    return svgText(this.view, this.theme, {
      title: this.scene.title,
      ground: this.below(),
      image,
      points: () => pointsLayer(this.view, this.scene, this.palette, this.pointSize, this.theme),
      count: this.scene.count,
      above: this.overlay(),
    });
  }

  /** Where the asked model's answer changes nearest to a point, on the disk of the view. */
  rivalOf(k) {
    return rivalPoint(this.view, this.pointOf(k), answerAt(this.scene.models[this.asked], k));
  }

  /** Frames per second while the plane moves by `step` per frame, every frame waited for. */
  framesPerSecond(frames = 30, step = 0.03) {
    const begin = performance.now();
    for (let k = 0; k < frames; k++) {
      this.view.nudge(k / 5, step);
      this.draw();
      this.renderer.finish();
    }
    return (1000 * frames) / (performance.now() - begin);
  }
}
