// What is drawn besides the points, as display lists: the ground, the boundaries, and what is said of one point.
import { apply, applyInto, boost, compose, transformVector } from "./mobius.js";
import { MODELS } from "./models.js";
import { circleAround, levelSet } from "./level_sets.js";
import { toPaths } from "./display_list.js";
import { OUTLINES } from "./marks.js";

const RINGS = [1, 2, 3, 4, 6, 8, 10, 12];
const RAYS = 8;
const CURVE_WIDTH = 0.65; // of a line: regions have many boundaries
const MANY_EDGES = 4000; // twice as many numbers as edges: from here on each is drawn with fewer points

/** The plane itself: its edge, and rings and rays around the origin of the data, which move along. */
export function groundLayer(view, theme) {
  const items = [];
  const model = MODELS[view.model];
  if (model.isDisk) {
    const [x, y] = view.pixelsInto([0, 0], 0, 0);
    items.push({ circle: [x, y, view.scale], fill: theme.plane });
  } else {
    const floor = view.height / 2 + view.scale * view.offset[1];
    const bottom = Math.min(Math.max(floor, 0), view.height);
    items.push({ paths: [[0, 0, view.width, 0, view.width, bottom, 0, bottom]], closed: true, fill: theme.plane });
  }
  const line = (points) => {
    if (points) items.push({ paths: toPaths(view, points), stroke: theme.grid, width: 0.8 });
  };
  const origin = transformVector(view.isometry, [1, 0, 0]);
  for (const radius of RINGS) line(levelSet(origin, Math.cosh(radius)));
  for (let k = 0; k < RAYS / 2; k++) {
    const angle = (Math.PI * k) / (RAYS / 2);
    line(levelSet(transformVector(view.isometry, [0, Math.cos(angle), Math.sin(angle)])));
  }
  return items;
}

/** The edge of the plane, over the regions that reach it. */
export function rimLayer(view, theme) {
  const [x, y] = view.pixelsInto([0, 0], 0, 0);
  const floor = view.height / 2 + view.scale * view.offset[1];
  const shape = MODELS[view.model].isDisk ? { circle: [x, y, view.scale] } : { paths: [[0, floor, view.width, floor]] };
  return [{ ...shape, stroke: theme.rim, width: 1.5 }];
}

/** A boundary in the style of its model: a level set x * w + intercept = 0, or curves of points. */
export function boundaryLayer(view, boundary, style, withMargins) {
  const items = [];
  const draw = (points, changes = {}) => {
    if (points) items.push({ paths: toPaths(view, points), stroke: style.colour, ...style, ...changes });
  };
  const faint = { width: 0.8, dashes: [4, 4], opacity: 0.6 };
  if (boundary.normal) {
    const w = transformVector(view.isometry, boundary.normal);
    draw(levelSet(w, -boundary.intercept));
    if (withMargins) for (const side of [1, -1]) draw(levelSet(w, side - boundary.intercept), faint);
    return items;
  }
  const lines = ({ points, starts }) => {
    const moved = new Float64Array(points.length);
    const out = [0, 0];
    for (let k = 0; k < points.length; k += 2) {
      applyInto(out, view.isometry, points[k], points[k + 1]);
      moved[k] = out[0];
      moved[k + 1] = out[1];
    }
    const paths = [];
    for (let k = 0; k + 1 < starts.length; k++) {
      paths.push(...toPaths(view, moved.subarray(2 * starts[k], 2 * starts[k + 1])));
    }
    return paths;
  };
  const common = { stroke: style.colour, ...style };
  if (boundary.curves) items.push({ ...common, paths: lines(boundary.curves), width: CURVE_WIDTH * style.width });
  if (withMargins && boundary.levels) items.push({ ...common, paths: lines(boundary.levels), ...faint });
  return items;
}

/** The certified disc of one point, the way to where the answer changes, and a ring around the point itself. */
export function pointLayer(view, point, answer, colour, theme) {
  const items = [];
  const here = apply(view.isometry, point);
  if (answer?.disc > 0 && Number.isFinite(answer.disc)) {
    const disc = toPaths(view, circleAround(here, answer.disc));
    items.push({ paths: disc, closed: true, fill: colour, opacity: 0.22 });
    items.push({ paths: disc, closed: true, stroke: theme.ink, width: 1.2 });
  }
  if (Number.isFinite(answer?.rivalAngle)) {
    const rival = rivalPoint(view, point, answer);
    const way = new Float64Array(2 * 33);
    for (let k = 0; k <= 32; k++) way.set(geodesicPoint(here, rival, k / 32), 2 * k);
    items.push({ paths: toPaths(view, way), stroke: theme.ink, width: 1.2, dashes: [3, 3] });
    const [x, y] = view.pixelsInto([0, 0], ...rival);
    const cross = [[x - 5, y - 5, x + 5, y + 5], [x - 5, y + 5, x + 5, y - 5]];
    items.push({ paths: cross, stroke: theme.plane, width: 4 }, { paths: cross, stroke: theme.ink, width: 2 });
  }
  const [x, y] = view.pixelsInto([0, 0], ...here);
  items.push({ circle: [x, y, 8], stroke: theme.plane, width: 4 }, { circle: [x, y, 8], stroke: theme.ink, width: 2 });
  return items;
}

/** The nearest point of another answer, after the isometry: it is known by angle and distance, as seen from the point. */
export function rivalPoint(view, point, { rivalAngle, rivalSeen }) {
  const r = Math.tanh(rivalSeen / 2);
  const seen = [r * Math.cos(rivalAngle), r * Math.sin(rivalAngle)];
  // From the frame in which the point is at the origin straight to that of the view: far points keep their digits.
  return apply(compose(view.isometry, boost(point)), seen);
}

function geodesicPoint(from, to, share) {
  const seen = apply(boost([-from[0], -from[1]]), to);
  const r = Math.hypot(...seen);
  if (r === 0) return from;
  const step = Math.tanh(share * Math.atanh(Math.min(r, 1 - 1e-15))) / r;
  return apply(boost(from), [seen[0] * step, seen[1] * step]);
}

/** The edges of a graph as geodesics between points that are shown; while the plane moves, a share of them will do. */
export function edgesLayer(view, content, palette, theme, share = 1) {
  const { edges, points, labels } = content;
  if (!edges) return [];
  const drawn = 2 * Math.ceil((share * edges.length) / 2);
  const steps = drawn > MANY_EDGES ? 4 : 16;
  const paths = [];
  const line = new Float64Array(2 * (steps + 1));
  for (let e = 0; e < drawn; e += 2) {
    const [from, to] = [edges[e], edges[e + 1]];
    if (!palette[labels[from]][3] || !palette[labels[to]][3]) continue;
    const start = apply(view.isometry, [points[2 * from], points[2 * from + 1]]);
    const end = apply(view.isometry, [points[2 * to], points[2 * to + 1]]);
    for (let k = 0; k <= steps; k++) line.set(geodesicPoint(start, end, k / steps), 2 * k);
    paths.push(...toPaths(view, line));
  }
  return [{ paths, stroke: theme.ink, width: 0.8, opacity: 0.3 }];
}

/** All points as marks, for SVG and for browsers without WebGL2. */
export function pointsLayer(view, content, palette, size, theme) {
  const items = [];
  const out = [0, 0];
  const radius = size / 2;
  for (let k = 0; k < content.count; k++) {
    const [red, green, blue, alpha] = palette[content.labels[k]];
    if (!alpha) continue;
    applyInto(out, view.isometry, content.points[2 * k], content.points[2 * k + 1]);
    view.pixelsInto(out, out[0], out[1]);
    const [x, y] = out;
    if (x < -radius || y < -radius || x > view.width + radius || y > view.height + radius) continue;
    const style = {
      fill: `rgb(${red},${green},${blue})`,
      stroke: content.test?.[k] ? theme.testEdge : theme.pointEdge,
      width: 0.6,
      ...(alpha < 255 && { opacity: alpha / 255 }),
    };
    const mark = content.markNames[content.marks[k]];
    const outline = OUTLINES[mark];
    if (mark === "ring") items.push({ circle: [x, y, 0.68 * radius], stroke: style.fill, width: 0.4 * radius, ...(alpha < 255 && { opacity: style.opacity }) });
    else if (outline) items.push({ paths: [outline.flatMap(([u, v]) => [x + u * radius, y + v * radius])], closed: true, ...style });
    else items.push({ circle: [x, y, radius], ...style });
  }
  return items;
}
