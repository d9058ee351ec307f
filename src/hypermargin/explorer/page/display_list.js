// Lines, areas, marks and words in pixels, drawn on a canvas or written as SVG: one list, two ways to show it.

const FAR = 1e5;

/** The subpaths of disk points (after the isometry) in pixels; broken where they leave for infinity. */
export function toPaths(view, points) {
  const paths = [];
  let path = [];
  const out = [0, 0];
  for (let k = 0; k < points.length; k += 2) {
    view.pixelsInto(out, points[k], points[k + 1]);
    if (Math.abs(out[0]) < FAR && Math.abs(out[1]) < FAR) path.push(out[0], out[1]);
    else if (path.length) {
      paths.push(path);
      path = [];
    }
  }
  if (path.length) paths.push(path);
  return paths;
}

export function drawOnCanvas(context, items) {
  for (const item of items) {
    context.globalAlpha = item.opacity ?? 1;
    context.setLineDash(item.dashes ?? []);
    context.lineWidth = item.width ?? 1;
    context.lineJoin = context.lineCap = "round";
    if (item.dashes?.length) context.lineCap = "butt";
    context.beginPath();
    if (item.circle) context.arc(item.circle[0], item.circle[1], item.circle[2], 0, 2 * Math.PI);
    for (const path of item.paths ?? []) {
      context.moveTo(path[0], path[1]);
      for (let k = 2; k < path.length; k += 2) context.lineTo(path[k], path[k + 1]);
      if (item.closed) context.closePath();
    }
    if (item.fill) {
      context.fillStyle = item.fill;
      context.fill();
    }
    if (item.stroke) {
      context.strokeStyle = item.stroke;
      context.stroke();
    }
    if (item.text) {
      context.fillStyle = item.colour;
      context.font = item.font ?? "12px system-ui, sans-serif";
      context.textAlign = item.align ?? "left";
      context.fillText(item.text, item.at[0], item.at[1]);
    }
  }
  context.globalAlpha = 1;
}

export function escapeXml(text) {
  return String(text).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** The list as the inside of an SVG element; colours must be plain ones. */
export function toSvg(items) {
  const number = (value) => String(Math.round(value * 100) / 100);
  return items
    .map((item) => {
      const style = [
        `fill="${item.fill ?? "none"}"`,
        item.stroke ? `stroke="${item.stroke}" stroke-width="${item.width ?? 1}"` : "",
        item.dashes?.length ? `stroke-dasharray="${item.dashes.join(" ")}"` : "",
        item.opacity !== undefined ? `opacity="${item.opacity}"` : "",
      ]
        .filter(Boolean)
        .join(" ");
      if (item.text) {
        const anchor = { left: "start", center: "middle", right: "end" }[item.align ?? "left"];
        const place = `x="${number(item.at[0])}" y="${number(item.at[1])}" text-anchor="${anchor}"`;
        return `<text ${place} fill="${item.colour}" font-family="sans-serif" font-size="12">${escapeXml(item.text)}</text>`;
      }
      if (item.circle) {
        const [x, y, r] = item.circle.map(number);
        return `<circle cx="${x}" cy="${y}" r="${r}" ${style}/>`;
      }
      const data = item.paths
        .map((path) => {
          const pairs = [];
          for (let k = 0; k < path.length; k += 2) pairs.push(`${number(path[k])} ${number(path[k + 1])}`);
          return `M${pairs.join("L")}${item.closed ? "Z" : ""}`;
        })
        .join("");
      return `<path d="${data}" ${style} stroke-linejoin="round"/>`;
    })
    .join("\n");
}
