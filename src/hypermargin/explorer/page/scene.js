// The scene as the page uses it: typed arrays in place of text, and answers of a model at one point.
import { unpack, unpackPoints } from "./decode.js";
import { MARKS, markOf } from "./marks.js";

const PER_POINT = ["predicted", "probable", "probability", "margin", "radius", "disc", "rivalAngle", "rivalSeen", "rivalDistance"];

export function readScene(scene) {
  const points = unpackPoints(scene.points);
  const count = scene.count;
  const labels = scene.labels ? unpack(scene.labels) : new Uint8Array(count);
  const test = scene.test && unpack(scene.test);
  const marks = new Uint8Array(count);
  for (let k = 0; k < count; k++) marks[k] = markOf(scene, labels[k], test?.[k]);
  return {
    ...scene,
    points,
    labels: labels instanceof Uint32Array ? Uint16Array.from(labels) : labels,
    hasLabels: Boolean(scene.labels),
    classes: scene.classes.length ? [...scene.classes, ...(scene.unlabelled === null ? [] : ["no label"])] : ["points"],
    edges: scene.edges && unpack(scene.edges),
    test,
    marks,
    markNames: MARKS,
    models: scene.models.map(readModel),
    path: scene.path && { ...scene.path, steps: scene.path.steps.map(withCurves) },
  };
}

function readModel(model) {
  const answers = { kept: model.answers.kept };
  for (const name of PER_POINT) if (model.answers[name]) answers[name] = unpack(model.answers[name]);
  return { ...withCurves(model), answers };
}

function withCurves(part) {
  const read = (curves) => curves && { points: unpackPoints(curves.points), starts: unpack(curves.starts) };
  return { ...part, curves: read(part.curves), levels: read(part.levels) };
}

/** The regions of a model as loose triangles, with the class of each corner. */
export function readRegions(model) {
  const vertices = unpackPoints(model.regions.vertices);
  const corners = unpack(model.regions.triangles);
  const ofTriangle = unpack(model.regions.labels);
  const points = new Float64Array(2 * corners.length);
  const labels = new Uint16Array(corners.length);
  for (let k = 0; k < corners.length; k++) {
    points[2 * k] = vertices[2 * corners[k]];
    points[2 * k + 1] = vertices[2 * corners[k] + 1];
    labels[k] = model.classes[ofTriangle[Math.floor(k / 3)]];
  }
  return { points, labels };
}

/** What a model says of one point. */
export function answerAt(model, index) {
  const { answers } = model;
  const at = (name) => answers[name]?.[index];
  const probabilities = [];
  for (let k = 0; k < (answers.kept ?? 0); k++) {
    const place = index * answers.kept + k;
    probabilities.push({ label: model.classes[answers.probable[place]], value: answers.probability[place] / 65535 });
  }
  return {
    predicted: model.classes[at("predicted")],
    probabilities,
    margin: at("margin"),
    radius: at("radius"),
    disc: at("disc") ?? at("radius"), // in more than two dimensions the part of the ball that lies in the plane
    rivalAngle: at("rivalAngle"),
    rivalSeen: at("rivalSeen"),
    rivalDistance: at("rivalDistance"),
  };
}

export function idOf(scene, index) {
  return scene.ids ? scene.ids[index] : String(index);
}

/** Numbers of the points whose id is, begins with or contains the text, at most `most`, best first. */
export function findIds(scene, text, most = 8) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const found = [[], [], []];
  for (let k = 0; k < scene.count; k++) {
    const at = idOf(scene, k).toLowerCase().indexOf(wanted);
    if (at < 0) continue;
    const exact = at === 0 && idOf(scene, k).length === wanted.length;
    const rank = exact ? 0 : at === 0 ? 1 : 2;
    if (found[rank].length < most) found[rank].push(k);
  }
  return found.flat().slice(0, most);
}
