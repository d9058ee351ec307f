// Marks of points. Colours repeat after the palette's end; then the mark changes, so that no two classes look alike.

export const TRAIN_MARKS = ["circle", "square", "diamond"];
export const TEST_MARKS = ["triangle", "kite", "plus"];
export const MARKS = [...TRAIN_MARKS, ...TEST_MARKS, "ring"]; // the ring is for points without a label

export function colourOf(scene, index) {
  return index === scene.unlabelled ? scene.noColour : scene.palette[Math.max(index, 0) % scene.palette.length];
}

/** The number in MARKS of a class's mark. */
export function markOf(scene, index, isTest) {
  if (index === scene.unlabelled) return MARKS.indexOf("ring");
  const round = Math.floor(Math.max(index, 0) / scene.palette.length) % TRAIN_MARKS.length;
  return isTest ? TRAIN_MARKS.length + round : round;
}

/** Corners of a mark of radius 1 with y downwards; null for the circle and the ring. */
export const OUTLINES = {
  circle: null,
  ring: null,
  square: [[-0.75, -0.75], [0.75, -0.75], [0.75, 0.75], [-0.75, 0.75]],
  diamond: [[0, -1], [1, 0], [0, 1], [-1, 0]],
  triangle: [[0, -1.05], [0.95, 0.62], [-0.95, 0.62]],
  kite: [[0, 1.05], [0.95, -0.62], [-0.95, -0.62]],
  plus: [
    [-0.3, -1], [0.3, -1], [0.3, -0.3], [1, -0.3], [1, 0.3], [0.3, 0.3],
    [0.3, 1], [-0.3, 1], [-0.3, 0.3], [-1, 0.3], [-1, -0.3], [-0.3, -0.3],
  ],
};

export function rgb(colour) {
  return [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16));
}

/** A colour that can be seen on dark ground: dark ones are mixed with white until they are light enough. */
export function liftedColour(colour) {
  const parts = rgb(colour);
  const luminance = 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  const share = Math.max(0, (105 - luminance) / (255 - luminance));
  const mixed = parts.map((part) => Math.round(part + share * (255 - part)));
  return `#${mixed.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** The colour of a class as a style: it follows the theme. */
export function classStyle(scene, index) {
  return index === scene.unlabelled ? scene.noColour : `var(--hm-class-${Math.max(index, 0) % scene.palette.length})`;
}
