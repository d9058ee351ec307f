// Level sets x * w = b of the plane as points of the disk: geodesics, hypercycles, horocycles and circles.

const STEPS = 240;

/**
 * Disk points (x0, y0, x1, y1, ...) along x * w = b, w = (t, u, v); null where there are none.
 *
 * For a spacelike w one formula without cancellation serves straight lines and arcs alike: with K = sqrt(q + b^2), n the
 * direction of (u, v) and n' that turned by a right angle, the arc passes through v n, v = (t - b)/(|wr| + K), along n'
 * with curvature k = (t + b)/K, and its points are v n + (2/k) sin(phi) (cos(phi) n' + sin(phi) n).
 */
export function levelSet(w, level = 0) {
  const size = Math.max(...w.map(Math.abs));
  if (!(size > 0)) return null;
  const [t, u, v] = w.map((value) => value / size);
  const b = level / size;
  const space = Math.hypot(u, v);
  const q = (space - Math.abs(t)) * (space + Math.abs(t));
  return q > 0 ? arc(t, u / space, v / space, space, q, b) : circle(t, u, v, q, b);
}

function arc(t, nx, ny, space, q, b) {
  const K = Math.sqrt(q + b * b);
  const vertex = (t - b) / (space + K);
  const rise = (t * K + b * space) / (space * (space + K));
  const half = Math.sqrt(q) / space;
  const last = Math.atan2(rise, half);
  const reach = Math.hypot(rise, half) / sinc(last);
  const points = new Float64Array(2 * (STEPS + 1));
  for (let k = 0; k <= STEPS; k++) {
    const share = Math.sin((Math.PI / 2) * ((2 * k) / STEPS - 1)); // closer together towards the edge
    const phi = last * share;
    const chord = reach * share * sinc(phi);
    const along = vertex + chord * Math.sin(phi);
    const across = chord * Math.cos(phi);
    points[2 * k] = along * nx - across * ny;
    points[2 * k + 1] = along * ny + across * nx;
  }
  return points;
}

function circle(t, u, v, q, b) {
  if (q + b * b <= 0 || b * t <= 0) return null;
  const radius = Math.sqrt(q + b * b) / Math.abs(t + b);
  return circlePoints(u / (t + b), v / (t + b), radius);
}

function circlePoints(x, y, radius) {
  const points = new Float64Array(2 * (STEPS + 1));
  for (let k = 0; k <= STEPS; k++) {
    const angle = (2 * Math.PI * k) / STEPS;
    points[2 * k] = x + radius * Math.cos(angle);
    points[2 * k + 1] = y + radius * Math.sin(angle);
  }
  return points;
}

/** Disk points of the hyperbolic circle around a disk point. */
export function circleAround([x, y], radius) {
  const s = Math.tanh(radius / 2);
  const square = x * x + y * y;
  const scale = 1 / (1 - s * s * square);
  return circlePoints(x * scale * (1 - s * s), y * scale * (1 - s * s), s * (1 - square) * scale);
}

function sinc(x) {
  return Math.abs(x) < 1e-8 ? 1 : Math.sin(x) / x;
}
