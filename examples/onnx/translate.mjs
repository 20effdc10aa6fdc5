// Translates standard input, line by line, with what `wengert export FOLDER OUT` wrote, in onnxruntime: the encoder runs
// once, the decoder once for each token, and the most probable token is taken.
//
//     npm install --ignore-scripts onnxruntime-node
//     node translate.mjs OUT < lines
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

// the package is looked for in NODE_MODULES, or from the current folder upwards
const ort = createRequire((process.env.NODE_MODULES ?? process.cwd()) + '/')('onnxruntime-node');
const folder = process.argv[2];
const model = JSON.parse(readFileSync(`${folder}/model.json`, 'utf8'));
const encoder = await ort.InferenceSession.create(`${folder}/encoder.onnx`);
const decoder = await ort.InferenceSession.create(`${folder}/decoder.onnx`);

const ints = (numbers, ...dims) => new ort.Tensor('int32', Int32Array.from(numbers), dims);

// All rows of a batch; only the first is used here.
const padded = (ids) => {
  const rows = new Int32Array(model.sentences * model.length);
  rows.set(ids);
  return ints(rows, model.sentences, model.length);
};

// The longest piece that fits, again and again.  SentencePiece itself merges pieces in the order that it has learned,
// which gives other pieces for some words: for numbers that matter, use its library and the vocabulary of the folder.
function split(line) {
  const ids = [];
  let text = '▁' + line.trim().replace(/\s+/g, '▁');
  while (text) {
    let size = Math.min(text.length, 40);
    while (size > 1 && !model.source.includes(text.slice(0, size))) size--;
    const id = model.source.indexOf(text.slice(0, size));
    ids.push(id < 0 ? model.source_unknown : id);
    text = text.slice(size);
  }
  return [...ids.slice(0, model.length - 1), model.source_end];
}

function mostProbable(logits) {
  let best = 0;
  for (let i = 1; i < model.target.length; i++) if (logits[i] > logits[best]) best = i;
  return best;
}

async function translate(line) {
  const source = split(line);
  const lengths = ints(new Int32Array(model.sentences).fill(source.length), model.sentences);
  const { memory } = await encoder.run({ source: padded(source), source_lengths: lengths });
  const target = [model.target_begin];
  while (target.length < model.length) {
    const { logits } = await decoder.run({
      target_in: padded(target), position: ints([target.length - 1], 1), memory, source_lengths: lengths,
    });
    const next = mostProbable(logits.data);
    if (next === model.target_end) break;
    target.push(next);
  }
  return target.slice(1).map((id) => model.target[id]).join('').replaceAll('▁', ' ').trim();
}

for (const line of readFileSync(0, 'utf8').split('\n').slice(0, -1)) console.log(await translate(line));
