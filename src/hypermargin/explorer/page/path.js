// The slider over C: what was reached, what is proved, and the proof.
import { make, percent, shortNumber } from "./dom.js";
import { makeProof } from "./proof.js";

export function makePath(scene, explorer) {
  const { steps, start, problems } = scene.path;
  const last = steps.length - 1;
  const slider = make("input", { type: "range", min: 0, max: last, step: 1, value: start, "aria-label": "C", oninput: () => show(Number(slider.value)) });
  const value = make("output", { class: "hm-C" });
  const numbers = make("dl", { class: "hm-numbers" });
  const status = make("p", { class: "hm-note" });
  const own = make("p", { class: "hm-note" }, `Regions and answers at points are those of the model itself, C = ${shortNumber(steps[start].C)}.`);
  const picture = make("div", { class: "hm-proof" });
  let timer = 0;
  const stopPlaying = () => {
    clearInterval(timer);
    timer = 0;
    play.textContent = "▶ play";
  };
  const play = make("button", { type: "button", class: "hm-link", onclick: () => {
    if (timer) return stopPlaying();
    if (Number(slider.value) === last) show(0);
    play.textContent = "❚❚ pause";
    timer = setInterval(() => (Number(slider.value) < last ? show(Number(slider.value) + 1) : stopPlaying()), 700);
  } }, "▶ play");

  function show(k) {
    slider.value = k;
    const step = steps[k];
    value.textContent = `C = ${shortNumber(step.C)}`;
    const rows = [
      ["objective", "objective", shortNumber(step.objective, 8)],
      ["bound", "certified bound", shortNumber(step.bound, 8)],
      ["gap", "relative gap", shortNumber(step.gap, 2)],
      ["accuracy", "right on these points", percent(step.accuracy)],
    ];
    numbers.replaceChildren(...rows.flatMap(([key, name, text]) => [make("dt", {}, name), make("dd", { "data-number": key }, text)]));
    const all = problems > 1 ? `${step.proved} of ${problems} binary problems proved optimal; sums over all of them above. ` : "";
    status.textContent = `${step.proved === problems ? "✓ " : ""}${all}${problems > 1 ? "" : step.status}`;
    const which = problems > 1 ? `binary problem ${step.widest + 1}, the one with the widest gap` : "";
    picture.replaceChildren(step.proof ? makeProof(step.proof, which) : make("p", { class: "hm-note" }, "There is no proof to draw for this C."));
    own.hidden = k === start || !scene.models.length;
    explorer.setPathStep(k);
  }
  const element = make("div", {}, make("div", { class: "hm-slider" }, slider, value), numbers, status, own, make("p", { class: "hm-note" }, play), picture);
  return { element, show, close: stopPlaying };
}
