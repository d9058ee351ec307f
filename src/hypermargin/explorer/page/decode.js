// From the base64 of the scene to typed arrays.

const ARRAYS = { float32: Float32Array, uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array };

export function unpack({ dtype, data }) {
  const text = atob(data);
  const bytes = new Uint8Array(text.length);
  for (let k = 0; k < text.length; k++) bytes[k] = text.charCodeAt(k);
  return new ARRAYS[dtype](bytes.buffer);
}

/** Disk coordinates (x0, y0, x1, y1, ...) in doubles, from space coordinates in two floats each. */
export function unpackPoints({ high, low }) {
  const space = Float64Array.from(unpack(high));
  const rest = unpack(low);
  for (let k = 0; k < space.length; k += 2) {
    const u = space[k] + rest[k];
    const v = space[k + 1] + rest[k + 1];
    const scale = 1 / (1 + Math.sqrt(1 + u * u + v * v));
    space[k] = u * scale;
    space[k + 1] = v * scale;
  }
  return space;
}
