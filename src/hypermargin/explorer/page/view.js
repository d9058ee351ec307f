// What is looked at, and from where: an isometry of the plane, a model of it, and a window on that.
import { IDENTITY, apply, applyInto, boost, boostToOrigin, compose, inverse, rotation } from "./mobius.js";
import { MODELS } from "./models.js";

export const MOST_ZOOM = 400;
export const LEAST_ZOOM = 0.4;

export class View {
  constructor(home = IDENTITY) {
    this.home = home;
    this.model = "poincare";
    this.width = 1;
    this.height = 1;
    this.reset();
  }

  reset() {
    this.isometry = this.home;
    this.resetWindow();
  }

  resetWindow() {
    this.zoom = 1;
    this.offset = this.homeOffset;
  }

  /** The middle of the window at first: that of the disk, or such that the edge of the half-plane is near the bottom. */
  get homeOffset() {
    return MODELS[this.model].isDisk ? [0, 0] : [0, (0.44 * this.height) / this.scale];
  }

  setModel(name) {
    this.model = name;
    this.resetWindow();
  }

  resize(width, height) {
    const atHome = this.zoom === 1 && this.offset.every((value, k) => value === this.homeOffset[k]);
    this.width = Math.max(width, 1);
    this.height = Math.max(height, 1);
    if (atHome) this.offset = this.homeOffset;
  }

  /** Pixels per unit of the model's coordinates. */
  get scale() {
    const { width, height } = MODELS[this.model].home;
    return this.zoom * Math.min(this.width / width, this.height / height);
  }

  /** Pixels of a disk point that the isometry has been applied to, into `out`. */
  pixelsInto(out, x, y) {
    MODELS[this.model].project(out, x, y);
    const scale = this.scale;
    out[0] = this.width / 2 + scale * (out[0] - this.offset[0]);
    out[1] = this.height / 2 - scale * (out[1] - this.offset[1]);
    return out;
  }

  /** Pixels of a point of the data, given on the disk. */
  pixelsOf(point) {
    const out = applyInto([0, 0], this.isometry, point[0], point[1]);
    return this.pixelsInto(out, out[0], out[1]);
  }

  planeAt(px, py) {
    const scale = this.scale;
    return [this.offset[0] + (px - this.width / 2) / scale, this.offset[1] - (py - this.height / 2) / scale];
  }

  /** The disk point under a pixel, after the isometry; the nearest one where the pixel is outside. */
  pointAt(px, py) {
    return MODELS[this.model].lift(...this.planeAt(px, py));
  }

  contains(px, py) {
    return MODELS[this.model].contains(...this.planeAt(px, py));
  }

  /** Move the plane so that what was under pixel `from`, when the isometry was `before`, is under pixel `to`. */
  drag(before, from, to) {
    if (MODELS[this.model].isDisk && !this.contains(...from)) {
      const [a, b] = [this.planeAt(...from), this.planeAt(...to)];
      this.isometry = compose(rotation(Math.atan2(b[1], b[0]) - Math.atan2(a[1], a[0])), before);
      return;
    }
    const move = MODELS[this.model].drag(this.pointAt(...from), this.pointAt(...to));
    this.isometry = compose(move, before);
  }

  /** Zoom the window by a factor, with what is under the pixel staying there. */
  zoomAt(px, py, factor) {
    const before = this.planeAt(px, py);
    this.zoom = Math.min(Math.max(this.zoom * factor, LEAST_ZOOM), MOST_ZOOM);
    const after = this.planeAt(px, py);
    this.offset = [this.offset[0] + before[0] - after[0], this.offset[1] + before[1] - after[1]];
  }

  /** Apply a translation by `distance` in the direction `angle` of the screen. */
  nudge(angle, distance) {
    const r = Math.tanh(distance / 2);
    this.isometry = compose(boost([r * Math.cos(angle), r * Math.sin(angle)]), this.isometry);
  }

  rotate(angle) {
    this.isometry = compose(rotation(angle), this.isometry);
  }

  /** The isometry part of the way (share 0 to 1) to having a point of the data at the middle. */
  towards(before, point, share) {
    const [x, y] = apply(before, point);
    const r = Math.hypot(x, y);
    if (r === 0) return before;
    const step = Math.tanh(share * Math.atanh(Math.min(r, 1 - 1e-15))) / r;
    return compose(boostToOrigin([x * step, y * step]), before);
  }

  /** The point of the data that is at the middle. */
  get centre() {
    return apply(inverse(this.isometry), [0, 0]);
  }
}
