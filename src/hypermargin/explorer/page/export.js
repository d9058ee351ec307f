// The picture as a file.
import { escapeXml, toSvg } from "./display_list.js";

/** Points above this number go into an SVG as an image, because no program opens so many marks with pleasure. */
const MOST_MARKS = 20000;

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** All layers on one canvas, over the colour of the page. */
export function flatten(view, ratio, theme, canvases) {
  const flat = document.createElement("canvas");
  flat.width = Math.round(view.width * ratio);
  flat.height = Math.round(view.height * ratio);
  const context = flat.getContext("2d");
  context.fillStyle = theme.page;
  context.fillRect(0, 0, flat.width, flat.height);
  for (const canvas of canvases) context.drawImage(canvas, 0, 0);
  return flat;
}

export function savePng(flat, name) {
  return new Promise((done) => flat.toBlob((blob) => done(save(blob, name)), "image/png"));
}

/** The layers as SVG text: ground, regions (an image), points, what lies above. */
export function svgText(view, theme, { title, ground, image, points, count, above }) {
  const { width, height } = view;
  const picture = image && `<image width="${width}" height="${height}" href="${image}"/>`;
  const marks = count <= MOST_MARKS ? toSvg(points()) : "";
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<title>${escapeXml(title)}</title>`,
    `<rect width="100%" height="100%" fill="${theme.page}"/>`,
    toSvg(ground),
    picture ?? "",
    marks,
    toSvg(above),
    "</svg>",
  ].join("\n");
}

export function saveSvg(text, name) {
  save(new Blob([text], { type: "image/svg+xml" }), name);
}

export function asMarks(count) {
  return count <= MOST_MARKS;
}
