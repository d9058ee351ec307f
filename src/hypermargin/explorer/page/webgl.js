// Points and regions by WebGL2, with the isometry in the vertex shader.
//
// Shaders compute in float32, which cannot hold a far point and bring it near. So the buffers hold the points as seen
// from an anchor, an isometry near the view's: the shader applies what is left, which is small. When the view has moved
// away from the anchor, the buffers are made again in doubles.
import { IDENTITY, applyInto, compose, displacement, inverse } from "./mobius.js";
import { rgb } from "./marks.js";

const FARTHEST_FROM_ANCHOR = 1;

const MODEL_NUMBERS = { poincare: 0, klein: 1, halfplane: 2 };

const PROJECT = `#version 300 es
precision highp float;
uniform vec4 isometry;   // a, b
uniform vec4 window;     // offset, scale to clip coordinates
uniform int model;
uniform highp sampler2D palette;
vec2 times(vec2 p, vec2 q) { return vec2(p.x * q.x - p.y * q.y, p.x * q.y + p.y * q.x); }
vec4 placed(vec2 z) {
  vec2 a = isometry.xy, b = isometry.zw;
  vec2 above = times(a, z) + b;
  vec2 below = times(vec2(b.x, -b.y), z) + vec2(a.x, -a.y);
  z = times(above, vec2(below.x, -below.y)) / dot(below, below);
  vec2 p = z;
  if (model == 1) p = 2.0 * z / (1.0 + dot(z, z));
  if (model == 2) {
    float square = (1.0 - z.y) * (1.0 - z.y) + z.x * z.x;
    p = vec2(2.0 * z.x, 1.0 - dot(z, z)) / max(square, 1e-12);
  }
  return vec4((p - window.xy) * window.zw, 0.0, 1.0);
}
vec4 colourAt(int index) { return texelFetch(palette, ivec2(index % 256, index / 256), 0); }
`;

const POINTS_VERTEX = `${PROJECT}
layout(location = 0) in vec2 point;
layout(location = 1) in float label;
layout(location = 2) in float mark;
uniform float size;
flat out vec4 colour;
flat out int shape;
flat out float pixels;
void main() {
  colour = colourAt(int(label));
  shape = int(mark);
  pixels = size * (shape >= 3 && shape < 6 ? 1.25 : 1.0);
  gl_Position = colour.a == 0.0 ? vec4(2.0, 2.0, 2.0, 1.0) : placed(point);
  gl_PointSize = pixels;
}`;

const POINTS_FRAGMENT = `#version 300 es
precision highp float;
flat in vec4 colour;
flat in int shape;
flat in float pixels;
uniform vec4 edgeOfTraining;
uniform vec4 edgeOfTest;
out vec4 result;
float outside(vec2 p) {   // about the distance to the mark's outline, negative inside
  vec2 q = abs(p);
  if (shape == 0) return length(p) - 0.88;
  if (shape == 1) return max(q.x, q.y) - 0.72;
  if (shape == 2) return (q.x + q.y - 0.98) * 0.707;
  if (shape == 3) return max(q.x * 0.87 - p.y * 0.5, p.y) - 0.47;
  if (shape == 4) return max(q.x * 0.87 + p.y * 0.5, -p.y) - 0.47;
  if (shape == 6) return abs(length(p) - 0.68) - 0.2;
  return max(min(q.x, q.y) - 0.3, max(q.x, q.y) - 0.9);
}
void main() {
  float soft = 2.0 / pixels;
  float d = outside(gl_PointCoord * 2.0 - 1.0);
  float cover = clamp(0.5 - d / soft, 0.0, 1.0);
  if (cover == 0.0) discard;
  vec4 edge = shape == 6 ? vec4(0.0) : shape >= 3 ? edgeOfTest : edgeOfTraining;
  float rim = clamp(0.5 + (d + soft) / soft, 0.0, 1.0) * edge.a * smoothstep(4.0, 9.0, pixels);
  result = vec4(mix(colour.rgb, edge.rgb, rim), 1.0) * cover * colour.a;
}`;

// Of points this small no mark can be told from another: a soft dot will do, at a fraction of the price.
const SMALL = 6;
const DOTS_FRAGMENT = `#version 300 es
precision highp float;
flat in vec4 colour;
flat in float pixels;
out vec4 result;
void main() {
  float cover = clamp(0.5 + (0.9 - length(gl_PointCoord * 2.0 - 1.0)) * 0.5 * pixels, 0.0, 1.0);
  result = vec4(colour.rgb, 1.0) * (cover * colour.a);
}`;

const REGIONS_VERTEX = `${PROJECT}
layout(location = 0) in vec2 point;
layout(location = 1) in float label;
flat out vec3 tint;
void main() {
  tint = colourAt(int(label)).rgb;
  gl_Position = placed(point);
}`;

const REGIONS_FRAGMENT = `#version 300 es
precision highp float;
flat in vec3 tint;
uniform float strength;
out vec4 result;
void main() { result = vec4(tint, 1.0) * strength; }`;

/** Vertices of one kind: their disk points in doubles, and buffers of them as seen from the anchor. */
class Cloud {
  constructor(gl, points, columns) {
    this.gl = gl;
    this.points = points;
    this.count = points.length / 2;
    this.moved = new Float32Array(points.length);
    this.vertices = gl.createVertexArray();
    gl.bindVertexArray(this.vertices);
    this.buffer = gl.createBuffer();
    this.buffers = [this.buffer];
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, this.moved.byteLength, gl.DYNAMIC_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    columns.forEach((column, k) => {
      const buffer = gl.createBuffer();
      this.buffers.push(buffer);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, column, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(k + 1);
      const type = column instanceof Uint8Array ? gl.UNSIGNED_BYTE : gl.UNSIGNED_SHORT;
      gl.vertexAttribPointer(k + 1, 1, type, false, 0, 0);
    });
    gl.bindVertexArray(null);
    this.anchor = null;
  }

  /** The isometry that is left for the shader. */
  remainder(isometry) {
    let rest = this.anchor && compose(isometry, inverse(this.anchor));
    if (!rest || displacement(rest) > FARTHEST_FROM_ANCHOR) {
      this.anchor = isometry;
      rest = IDENTITY;
      const out = [0, 0];
      for (let k = 0; k < this.points.length; k += 2) {
        applyInto(out, isometry, this.points[k], this.points[k + 1]);
        this.moved[k] = out[0];
        this.moved[k + 1] = out[1];
      }
      this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.buffer);
      this.gl.bufferSubData(this.gl.ARRAY_BUFFER, 0, this.moved);
    }
    return rest;
  }

  release() {
    this.gl.deleteVertexArray(this.vertices);
    for (const buffer of this.buffers) this.gl.deleteBuffer(buffer);
  }
}

/** The points in an order of chance, the same every time: no class lies above all others, and the first are a sample. */
function shuffled({ points, labels, marks, count }) {
  const order = Uint32Array.from({ length: count }, (_, k) => k);
  let state = 1;
  for (let k = count - 1; k > 0; k--) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const other = Math.floor((state / 4294967296) * (k + 1));
    [order[k], order[other]] = [order[other], order[k]];
  }
  const mixed = { points: new Float64Array(points.length), labels: labels.slice(), marks: marks.slice() };
  order.forEach((from, to) => {
    mixed.points[2 * to] = points[2 * from];
    mixed.points[2 * to + 1] = points[2 * from + 1];
    mixed.labels[to] = labels[from];
    mixed.marks[to] = marks[from];
  });
  return mixed;
}

function makeProgram(gl, vertexText, fragmentText) {
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertexText], [gl.FRAGMENT_SHADER, fragmentText]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
  const places = new Map();
  const place = (name) => {
    if (!places.has(name)) places.set(name, gl.getUniformLocation(program, name));
    return places.get(name);
  };
  return { program, place };
}

export class GlRenderer {
  /** Null where the browser has no WebGL2. */
  static make(canvas, content) {
    const gl = canvas.getContext("webgl2", { premultipliedAlpha: true, antialias: false, preserveDrawingBuffer: true });
    return gl ? new GlRenderer(gl, content) : null;
  }

  constructor(gl, scene) {
    const { points, labels, marks } = shuffled(scene);
    this.gl = gl;
    this.pointsProgram = makeProgram(gl, POINTS_VERTEX, POINTS_FRAGMENT);
    this.dotsProgram = makeProgram(gl, POINTS_VERTEX, DOTS_FRAGMENT);
    this.regionsProgram = makeProgram(gl, REGIONS_VERTEX, REGIONS_FRAGMENT);
    this.points = new Cloud(gl, points, [labels, marks]);
    this.regions = null;
    this.palette = gl.createTexture();
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  /** Regions to paint: three disk points per triangle, and the class of each; null for none. */
  setRegions(content) {
    this.regions?.release();
    this.regions = content && new Cloud(this.gl, content.points, [content.labels]);
  }

  /** Colours as [r, g, b, a] from 0 to 255, one per class; an alpha of 0 hides it. */
  setPalette(colours) {
    const { gl } = this;
    const rows = Math.max(Math.ceil(colours.length / 256), 1);
    const texels = new Uint8Array(1024 * rows);
    colours.forEach((colour, k) => texels.set(colour, 4 * k));
    gl.bindTexture(gl.TEXTURE_2D, this.palette);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, rows, 0, gl.RGBA, gl.UNSIGNED_BYTE, texels);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  }

  draw(view, { ratio, size, edge, testEdge, strength, share = 1, withPoints = true }) {
    const { gl } = this;
    gl.viewport(0, 0, gl.canvas.width, gl.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (this.regions && strength > 0) {
      const { program, place } = this.regionsProgram;
      this.begin(program, place, view, this.regions);
      gl.uniform1f(place("strength"), strength);
      gl.drawArrays(gl.TRIANGLES, 0, this.regions.count);
    }
    if (!withPoints) return;
    const isSmall = size * ratio < SMALL;
    const { program, place } = isSmall ? this.dotsProgram : this.pointsProgram;
    this.begin(program, place, view, this.points);
    gl.uniform1f(place("size"), size * ratio);
    if (!isSmall) {
      gl.uniform4fv(place("edgeOfTraining"), edge);
      gl.uniform4fv(place("edgeOfTest"), testEdge);
    }
    gl.drawArrays(gl.POINTS, 0, Math.ceil(share * this.points.count));
    gl.bindVertexArray(null);
  }

  begin(program, place, view, cloud) {
    const { gl } = this;
    const rest = cloud.remainder(view.isometry);
    gl.useProgram(program);
    gl.bindVertexArray(cloud.vertices);
    gl.bindTexture(gl.TEXTURE_2D, this.palette);
    gl.uniform4f(place("isometry"), rest.ar, rest.ai, rest.br, rest.bi);
    const { scale, offset, width, height } = view;
    gl.uniform4f(place("window"), offset[0], offset[1], (2 * scale) / width, (2 * scale) / height);
    gl.uniform1i(place("model"), MODEL_NUMBERS[view.model]);
    gl.uniform1i(place("palette"), 0);
  }

  /** Wait until everything has been drawn; for measurements. */
  finish() {
    this.gl.readPixels(0, 0, 1, 1, this.gl.RGBA, this.gl.UNSIGNED_BYTE, new Uint8Array(4));
  }

  close() {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }
}

/** Whether a colour of the palette is shown: the renderer and its stand-in take the same list. */
export function paletteEntry(colour, alpha) {
  return [...rgb(colour), alpha];
}
