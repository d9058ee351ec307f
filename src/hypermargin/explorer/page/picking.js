// The point under the pointer.
import { applyInto } from "./mobius.js";

/** The number of the nearest shown point within `reach` pixels, or -1. */
export function pick(view, content, palette, px, py, reach) {
  const out = [0, 0];
  let best = -1;
  let least = reach * reach;
  const { points, labels } = content;
  for (let k = 0; k < content.count; k++) {
    if (!palette[labels[k]][3]) continue;
    applyInto(out, view.isometry, points[2 * k], points[2 * k + 1]);
    view.pixelsInto(out, out[0], out[1]);
    const square = (out[0] - px) ** 2 + (out[1] - py) ** 2;
    if (square < least) {
      least = square;
      best = k;
    }
  }
  return best;
}
