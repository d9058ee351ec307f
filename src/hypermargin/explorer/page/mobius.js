// Isometries of the Poincaré disk: z -> (a z + b)/(conj(b) z + conj(a)) with |a|^2 - |b|^2 = 1, in doubles.
//
// Entries grow like e^(r/2) with the distance r an isometry moves the origin by, those of a Lorentz matrix like e^r:
// this form loses eps e^r at radius r, which is what rounding the coordinates costs anyway.

export const IDENTITY = Object.freeze({ ar: 1, ai: 0, br: 0, bi: 0 });

/** The same isometry with |a|^2 = 1 + |b|^2 to the last digit: products drift off, and |a|^2 - |b|^2 would cancel. */
export function renormalised({ ar, ai, br, bi }) {
  const scale = Math.sqrt(1 + br * br + bi * bi) / Math.hypot(ar, ai);
  return { ar: ar * scale, ai: ai * scale, br, bi };
}

/** First `inner`, then `outer`. */
export function compose(outer, inner) {
  const { ar: a, ai: b, br: c, bi: d } = outer;
  const { ar: e, ai: f, br: g, bi: h } = inner;
  return renormalised({
    ar: a * e - b * f + c * g + d * h,
    ai: a * f + b * e + d * g - c * h,
    br: a * g - b * h + c * e + d * f,
    bi: a * h + b * g + d * e - c * f,
  });
}

export function inverse({ ar, ai, br, bi }) {
  return { ar, ai: -ai, br: -br, bi: -bi };
}

/** The image of the disk point (x, y), written into `out`. */
export function applyInto(out, { ar, ai, br, bi }, x, y) {
  const nr = ar * x - ai * y + br;
  const ni = ar * y + ai * x + bi;
  const dr = br * x + bi * y + ar;
  const di = br * y - bi * x - ai;
  const square = dr * dr + di * di;
  out[0] = (nr * dr + ni * di) / square;
  out[1] = (ni * dr - nr * di) / square;
  return out;
}

export function apply(isometry, [x, y]) {
  return applyInto([0, 0], isometry, x, y);
}

/** The translation along the geodesic through the origin that takes the origin to p. */
export function boost([x, y]) {
  const norm = Math.hypot(x, y);
  const scale = 1 / Math.sqrt((1 - norm) * (1 + norm));
  return { ar: scale, ai: 0, br: x * scale, bi: y * scale };
}

export function boostToOrigin([x, y]) {
  return boost([-x, -y]);
}

/** The translation along the geodesic from p to q that takes p to q. */
export function translation(p, q) {
  const toOrigin = boostToOrigin(p);
  return compose(boost(p), compose(boost(apply(toOrigin, q)), toOrigin));
}

/** Rotation about the origin. */
export function rotation(angle) {
  return { ar: Math.cos(angle / 2), ai: Math.sin(angle / 2), br: 0, bi: 0 };
}

/** How far the origin is moved: |b| = sinh(d/2). */
export function displacement({ br, bi }) {
  return 2 * Math.asinh(Math.hypot(br, bi));
}

/** What the isometry makes of a normal or a point w = (t, u, v) of Minkowski space. */
export function transformVector({ ar, ai, br, bi }, [t, u, v]) {
  const squares = ar * ar + ai * ai + br * br + bi * bi;
  // With omega = u + iv: t' = (|a|^2 + |b|^2) t + 2 Re(a conj(b) omega), omega' = 2ab t + a^2 omega + b^2 conj(omega).
  const pr = ar * br + ai * bi;
  const pi = ai * br - ar * bi;
  const abr = ar * br - ai * bi;
  const abi = ar * bi + ai * br;
  const a2r = ar * ar - ai * ai;
  const a2i = 2 * ar * ai;
  const b2r = br * br - bi * bi;
  const b2i = 2 * br * bi;
  return [
    squares * t + 2 * (pr * u - pi * v),
    2 * abr * t + a2r * u - a2i * v + b2r * u + b2i * v,
    2 * abi * t + a2r * v + a2i * u - b2r * v + b2i * u,
  ];
}

/** The disk point above which the hyperboloid has the space coordinates (u, v), and back. */
export function diskOfSpace(u, v) {
  const scale = 1 / (1 + Math.sqrt(1 + u * u + v * v));
  return [u * scale, v * scale];
}
