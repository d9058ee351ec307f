// The models of the plane that can be looked at. All compute with the Poincaré disk; a model is how it is drawn.
import { translation } from "./mobius.js";

const EDGE = 1 - 1e-9;

/** A disk point drawn in to hyperbolic radius 21 at most, so that what the pointer touches is a point. */
function insideDisk(x, y) {
  const norm = Math.hypot(x, y);
  return norm <= EDGE ? [x, y] : [(x * EDGE) / norm, (y * EDGE) / norm];
}

function halfPlaneOfDisk(out, x, y) {
  // i (1 - iz)/(1 + iz): the top of the disk is infinity, its middle is i.
  const square = (1 - y) * (1 - y) + x * x;
  out[0] = (2 * x) / square;
  out[1] = (1 - x * x - y * y) / square;
  return out;
}

function diskOfHalfPlane(u, h) {
  // (zeta - i)/(1 - i zeta)
  const square = (1 + h) * (1 + h) + u * u;
  return [(2 * u) / square, (u * u + (h - 1) * (h + 1)) / square];
}

/** The isometry zeta -> s zeta + t of the half-plane that takes p to q: infinity stays where it is. */
function affineOfHalfPlane(p, q) {
  const [pu, ph] = halfPlaneOfDisk([0, 0], ...p);
  const [qu, qh] = halfPlaneOfDisk([0, 0], ...q);
  const s = Math.sqrt(qh / ph);
  const t = (qu - (qh / ph) * pu) / s;
  // The matrix [[s, t], [0, 1/s]] between the Cayley maps.
  return { ar: (s + 1 / s) / 2, ai: t / 2, br: t / 2, bi: (s - 1 / s) / 2 };
}

export const MODELS = {
  poincare: {
    title: "Poincaré",
    isDisk: true,
    home: { width: 2.12, height: 2.12 },
    project(out, x, y) {
      out[0] = x;
      out[1] = y;
      return out;
    },
    lift: (x, y) => insideDisk(x, y),
    contains: (x, y) => Math.hypot(x, y) < 1,
    drag: translation,
  },
  klein: {
    title: "Klein",
    isDisk: true,
    home: { width: 2.12, height: 2.12 },
    project(out, x, y) {
      const scale = 2 / (1 + x * x + y * y);
      out[0] = x * scale;
      out[1] = y * scale;
      return out;
    },
    lift(x, y) {
      [x, y] = insideDisk(x, y);
      const scale = 1 / (1 + Math.sqrt(Math.max(1 - x * x - y * y, 0)));
      return insideDisk(x * scale, y * scale);
    },
    contains: (x, y) => Math.hypot(x, y) < 1,
    drag: translation,
  },
  halfplane: {
    title: "Half-plane",
    isDisk: false,
    home: { width: 5, height: 3.9 },
    project: halfPlaneOfDisk,
    lift: (u, h) => insideDisk(...diskOfHalfPlane(u, Math.max(h, 1e-9))),
    contains: (u, h) => h > 0,
    drag: affineOfHalfPlane,
  },
};
