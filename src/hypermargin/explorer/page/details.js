// What is known of one point, in words.
import { make, percent, shortNumber } from "./dom.js";
import { answerAt, idOf } from "./scene.js";
import { markIcon } from "./legend.js";
import { classStyle } from "./marks.js";

function row(name, ...values) {
  return [make("dt", {}, name), make("dd", {}, ...values)];
}

/** A description of a point. */
export function describePoint(scene, index, model) {
  const isTest = Boolean(scene.test?.[index]);
  const label = scene.labels[index];
  const parts = [];
  const kind = scene.test ? (isTest ? "test point" : "training point") : "point";
  const heading = make("p", { class: "hm-id" }, make("strong", {}, idOf(scene, index)), make("span", {}, kind));
  if (scene.hasLabels) parts.push(...row("label", markIcon(scene, label, isTest, 12), " ", scene.classes[label]));
  if (model) parts.push(...answerRows(scene, index, model, label));
  return make("div", { class: "hm-point" }, heading, make("dl", {}, ...parts), model && probabilityBars(scene, answerAt(model, index)));
}

function answerRows(scene, index, model, label) {
  const answer = answerAt(model, index);
  const right = scene.hasLabels && label !== scene.unlabelled && (answer.predicted === label ? " ✓" : " ✗ wrong");
  const parts = row("predicted", markIcon(scene, answer.predicted, false, 12), " ", scene.classes[answer.predicted], right || "");
  const unit = scene.lengthUnit;
  if (answer.margin !== undefined && !Number.isNaN(answer.margin)) parts.push(...row("margin", shortNumber(answer.margin)));
  if (answer.radius !== undefined) {
    const sure = Number.isFinite(answer.radius) ? shortNumber(answer.radius * unit) : "∞: it never changes";
    parts.push(...row("certified radius", sure));
  }
  if (Number.isFinite(answer.rivalDistance)) parts.push(...row("answer changes at", shortNumber(answer.rivalDistance * unit)));
  return parts;
}

function probabilityBars(scene, answer) {
  if (!answer.probabilities.length) return null;
  const bars = answer.probabilities.map(({ label, value }) =>
    make(
      "li",
      {},
      make("span", { class: "hm-name" }, scene.classes[label]),
      make("span", { class: "hm-bar" }, make("i", { style: { width: `${100 * value}%`, background: classStyle(scene, label) } })),
      make("span", { class: "hm-count" }, percent(value)),
    ),
  );
  return make("ul", { class: "hm-bars", "aria-label": "probabilities" }, ...bars);
}
