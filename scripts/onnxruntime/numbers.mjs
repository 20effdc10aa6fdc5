// Reads safetensors, and loads onnxruntime from the folder NODE_MODULES.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

export const ort = createRequire((process.env.NODE_MODULES ?? process.cwd()) + '/')('onnxruntime-node');

const types = {
  F32: ['float32', Float32Array], F64: ['float64', Float64Array], I32: ['int32', Int32Array],
  I64: ['int64', BigInt64Array], BOOL: ['bool', Uint8Array], I8: ['int8', Int8Array], U8: ['uint8', Uint8Array],
};

// The tensors of a file by their names.
export function readTensors(path) {
  const bytes = readFileSync(path);
  const size = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.toString('utf8', 8, 8 + size));
  const tensors = {};
  for (const [name, entry] of Object.entries(header)) {
    if (name === '__metadata__') continue;
    const [type, array] = types[entry.dtype];
    const start = bytes.byteOffset + 8 + size;
    const copy = bytes.buffer.slice(start + entry.data_offsets[0], start + entry.data_offsets[1]);
    tensors[name] = new ort.Tensor(type, new array(copy), entry.shape);
  }
  return tensors;
}

// Those whose names begin with `prefix`, without it.
export function under(tensors, prefix) {
  const found = {};
  for (const [name, tensor] of Object.entries(tensors))
    if (name.startsWith(prefix)) found[name.slice(prefix.length)] = tensor;
  return found;
}

// Compares |got - expected| with absolute + relative |expected|: the numbers compared and the largest difference.
// Throws where one is larger, or anything but equal where either is not finite.
export function compare(what, got, expected, absolute, relative) {
  let most = 0;
  if (got.data.length !== expected.data.length || got.type !== expected.type)
    throw new Error(`${what}: ${got.type} of ${got.dims}, not ${expected.type} of ${expected.dims}`);
  for (let i = 0; i < got.data.length; i++) {
    const x = Number(got.data[i]), y = Number(expected.data[i]), d = x === y ? 0 : Math.abs(x - y);
    if (!(d <= absolute + relative * Math.abs(y)) && !(Number.isNaN(x) && Number.isNaN(y)))
      throw new Error(`${what}, element ${i}: ${x}, not ${y}`);
    most = Math.max(most, d);
  }
  return [got.data.length, most];
}
