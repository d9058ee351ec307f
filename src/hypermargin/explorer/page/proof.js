// The picture of a proof: over t, the least objective found, the lower envelope of the minorants, and what intervals prove.
import { make, makeSvg, shortNumber } from "./dom.js";

const WIDTH = 320;
const HEIGHT = 210;
const MARGIN = { left: 8, right: 8, top: 10, bottom: 22 };
let pictures = 0; // makes the names of clip paths different

export function makeProof(proof, which) {
  const base = proof.bound ?? Math.min(...proof.envelope.filter((value) => value != null));
  const top = Math.max(proof.top, base + 1e-9 * Math.max(Math.abs(base), 1e-9));
  const [low, high] = [base - 0.5 * (top - base), top + 0.06 * (top - base)];
  const x = (t) => MARGIN.left + ((WIDTH - MARGIN.left - MARGIN.right) * (t - proof.low)) / (proof.high - proof.low);
  const y = (value) => MARGIN.top + ((HEIGHT - MARGIN.top - MARGIN.bottom) * (high - value)) / (high - low);
  const clamp = (value) => Math.min(Math.max(value, -2000), 2000);
  const line = (ts, values) => {
    let text = "";
    let pen = "M";
    ts.forEach((t, k) => {
      if (values[k] == null) return (pen = "M");
      text += `${pen}${x(t).toFixed(2)} ${clamp(y(values[k])).toFixed(2)}`;
      pen = "L";
    });
    return text;
  };
  const path = (name, d) => makeSvg("path", { class: `hm-proof-${name}`, d });
  const [t, least] = proof.optimum;
  const intervals = proof.intervals.map(([from, to, value]) => `M${x(from).toFixed(2)} ${clamp(y(value)).toFixed(2)}H${x(to).toFixed(2)}`).join("");
  const nodes = proof.intervals.map(([from, , value]) => `M${x(from).toFixed(2)} ${clamp(y(value) - 4).toFixed(2)}v8`).join("");
  const clip = `hm-clip-${pictures++}`;
  const floor = HEIGHT - MARGIN.bottom;
  const frame = makeSvg("rect", { x: MARGIN.left, y: MARGIN.top, width: WIDTH - MARGIN.left - MARGIN.right, height: floor - MARGIN.top });
  const drawing = makeSvg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": "picture of the proof" },
    makeSvg("clipPath", { id: clip }, frame),
    makeSvg(
      "g",
      { "clip-path": `url(#${clip})` },
      ...proof.minorants.map((values) => path("minorant", line(proof.t, values))),
      path("intervals", intervals + nodes),
      path("envelope", line(proof.t, proof.envelope)),
      path("objective", line(proof.objectiveT, proof.objective)),
      proof.bound != null ? path("bound", `M${MARGIN.left} ${y(proof.bound)}H${WIDTH - MARGIN.right}`) : "",
      least != null ? makeSvg("circle", { class: "hm-proof-optimum", cx: x(t), cy: y(least), r: 4 }) : "",
    ),
    path("axis", `M${MARGIN.left} ${floor}H${WIDTH - MARGIN.right}`),
  );
  for (const [at, anchor] of [[proof.low, "start"], [proof.high, "end"]]) {
    const label = makeSvg("text", { x: x(at), y: HEIGHT - 7, "text-anchor": anchor, class: "hm-proof-label" });
    label.textContent = shortNumber(at, 3);
    drawing.append(label);
  }
  const axis = makeSvg("text", { x: WIDTH / 2, y: HEIGHT - 7, "text-anchor": "middle", class: "hm-proof-label" });
  axis.textContent = "t";
  drawing.append(axis);
  const key = (name, text) => make("span", {}, make("i", { class: `hm-key hm-key-${name}` }), text);
  const counts = `${proof.regions <= 2 ? "both signs of t" : `${proof.regions} regions of t and direction`}, ${proof.nIntervals} intervals, ${proof.cuts} cuts`;
  return make(
    "figure",
    {},
    drawing,
    make("figcaption", {}, key("objective", "least objective at t"), key("envelope", "no w is below"), key("intervals", "what each interval proves"), make("span", {}, which ? `${which}: ${counts}` : counts)),
  );
}
