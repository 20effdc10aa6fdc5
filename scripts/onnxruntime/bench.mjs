// bench.mjs FILE THREADS RUNS: seconds of one run in onnxruntime, the median of RUNS after two to warm up.
import { ort } from './numbers.mjs';

const [file, threads, runs] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const session = await ort.InferenceSession.create(file, { intraOpNumThreads: threads, interOpNumThreads: 1 });

// Numbers do not change the time, unless they are denormal or out of range.
const feeds = {};
for (const input of session.inputMetadata) {
  const count = input.shape.reduce((all, n) => all * n, 1);
  feeds[input.name] = input.type === 'float32'
    ? new ort.Tensor('float32', Float32Array.from({ length: count }, (_, i) => Math.sin(i)), input.shape)
    : new ort.Tensor('int32', new Int32Array(count).fill(1), input.shape);
}
const seconds = [];
for (let i = -2; i < runs; i++) {
  const start = process.hrtime.bigint();
  await session.run(feeds);
  if (i >= 0) seconds.push(Number(process.hrtime.bigint() - start) / 1e9);
}
seconds.sort((a, b) => a - b);
console.log(seconds[seconds.length >> 1].toFixed(6));
