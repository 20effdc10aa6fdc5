// check.mjs FOLDER: what `test_onnx_step write FOLDER` wrote, in onnxruntime.  Each built-in model with all its values,
// and ten training steps, in which the outputs of one run are inputs of the next.
import { readdirSync } from 'node:fs';
import { compare, ort, readTensors, under } from './numbers.mjs';

const folder = process.argv[2], STEPS = 10, RATE = 1e-3;
const wanted = (session, feeds) => Object.fromEntries(session.inputNames.map((name) => [name, feeds[name]]));

async function checkForward(name, numbers) {
  const session = await ort.InferenceSession.create(`${folder}/${name}.onnx`);
  const results = await session.run(wanted(session, under(numbers, 'input/')));
  let count = 0, most = 0;
  for (const [output, expected] of Object.entries(under(numbers, 'output/'))) {
    const [n, d] = compare(`${name}: ${output}`, results[output], expected, 1e-5, 1e-4);
    count += n;
    most = Math.max(most, d);
  }
  if (count === 0) throw new Error(`${name}: nothing was compared`);
  console.log(`${name}: ${count} numbers of the model, off by at most ${most.toExponential(1)}`);
}

async function checkSteps(name, numbers) {
  const session = await ort.InferenceSession.create(`${folder}/${name}.step.onnx`);
  const rate = new ort.Tensor('float32', Float32Array.of(RATE), []);
  let leaves = under(numbers, 'first/');
  const losses = [];
  for (let step = 0; step < STEPS; step++) {
    const results = await session.run(wanted(session, { ...under(numbers, 'input/'), ...leaves, rate }));
    losses.push(results.loss.data[0]);
    leaves = Object.fromEntries(Object.keys(leaves).map((leaf) => [leaf, results[`${leaf}.next`]]));
  }
  const all = new ort.Tensor('float64', Float64Array.from(losses), [STEPS]);
  const [, lossMost] = compare(`${name}: losses`, all, numbers['training/losses'], 1e-4, 0);
  let count = 0, most = 0;
  for (const [leaf, expected] of Object.entries(under(numbers, 'last/'))) {
    const [n, d] = compare(`${name}: ${leaf}`, leaves[leaf], expected, 1e-4, 0);
    count += n;
    most = Math.max(most, d);
  }
  if (count === 0) throw new Error(`${name}: nothing was compared`);
  console.log(`${name}: ${STEPS} steps, losses off by at most ${lossMost.toExponential(1)}, ` +
    `${count} parameters and moments by ${most.toExponential(1)}`);
}

const names = readdirSync(folder).filter((file) => file.endsWith('.safetensors')).map((file) => file.slice(0, -12));
if (names.length < 6) throw new Error(`${folder} has ${names.length} models`);
let failed = 0;
for (const name of names) {
  const numbers = readTensors(`${folder}/${name}.safetensors`);
  for (const check of [checkForward, checkSteps])
    await check(name, numbers).catch((error) => { failed++; console.log(`FAILED ${name}: ${error.message}`); });
}
console.log(`${names.length} models, ${failed} failures`);
process.exit(failed ? 1 : 0);
