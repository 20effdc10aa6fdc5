/* The graph as objects, from the rows that graph/page/page.c writes and describes.
 *
 *     node   {id, op, scope, phase, place, attrs, flops, bytes, ins, outs, step}
 *     value  {id, node, index, dtype, dims, name, bytes, users, outputs, takes, assigned, block}
 *     step   {index, node, kernel, backend, refused, seconds, inplace, scratch, again}
 *     block  {bytes, offset, first, last, values} */

const readOps = (raw) =>
    raw.ops.map(([name, formula, operands, results, kind, role]) => ({
        name, formula, role,
        operands: operands.split(" ").filter(Boolean),
        results: results.split(" ").filter(Boolean),
        kind: raw.kinds[kind][0],
    }));

function readScopes(raw) {
    const scopes = raw.scopes.map(([name]) => ({name}));
    raw.scopes.forEach(([, parent], i) => (scopes[i].parent = parent < 0 ? null : scopes[parent]));
    for (const scope of scopes) {
        const names = [];
        for (let s = scope; s.parent; s = s.parent)
            names.unshift(s.name);
        scope.path = names.join("/");
        scope.names = names;
    }
    return scopes;
}

function readValues(raw) {
    return raw.values.map(([dtype, dims, name], id) => ({
        id, dims, name,
        dtype: raw.dtypes[dtype][0],
        bytes: dims.reduce((product, n) => product * n, raw.dtypes[dtype][1]),
        count: dims.reduce((product, n) => product * n, 1),
        users: [], outputs: [], takes: null, assigned: null, block: null,
    }));
}

function readNodes(raw, ops, scopes, values) {
    return raw.nodes.map(([op, scope, phase, place, attrs, flops, bytes, ins, outs], id) => {
        const node = {
            id, attrs, flops, bytes,
            op: ops[op],
            scope: scopes[scope],
            phase: raw.phases[phase],
            place: place < 0 ? null : raw.places[place],
            ins: ins.map((v) => values[v]),
            outs: outs.map((v) => values[v]),
            step: null,
        };
        node.ins.forEach((value, operand) => value.users.push({node, operand}));
        node.outs.forEach((value, index) => Object.assign(value, {node, index}));
        return node;
    });
}

function readRun(raw, nodes, values) {
    const blocks = raw.blocks.map(([bytes, offset, first, last]) => ({bytes, offset, first, last, values: []}));
    raw.block_of.forEach((b, id) => {
        if (b >= 0) {
            values[id].block = blocks[b];
            blocks[b].values.push(values[id]);
        }
    });
    const steps = raw.steps.map(([id, kernel, refused, seconds, inplace, scratch, again], index) => {
        const [backend, name] = raw.kernels[kernel];
        const step = {
            index, node: nodes[id], backend, kernel: name, refused, seconds,
            inplace: !!inplace, again: !!again, scratch: null,
        };
        if (scratch >= 0) {
            step.scratch = blocks[scratch];
            blocks[scratch].scratchOf = step;
        }
        nodes[id].step = step;
        return step;
    });
    const seconds = steps.reduce((sum, step) => sum + step.seconds, 0);
    return {steps, blocks, buffer: raw.buffer, seconds};
}

/* The float dtype that most values have: it is left out of labels. */
function usualDtype(values) {
    const count = (dtype) => values.filter((value) => value.dtype === dtype).length;
    return count("f64") > count("f32") ? "f64" : "f32";
}

function readGraph(raw) {
    const ops = readOps(raw), scopes = readScopes(raw), values = readValues(raw);
    const nodes = readNodes(raw, ops, scopes, values);
    for (const [id, name] of raw.outputs)
        values[id].outputs.push(name);
    for (const [leaf, id] of raw.assigns) {
        values[leaf].takes = values[id];
        values[id].assigned = values[leaf];
    }
    const kinds = new Map(raw.kinds.map(([name, fill, line, text]) => [name, {name, fill, line, text}]));
    return {
        title: raw.title, phases: raw.phases, ops, scopes, values, nodes, kinds,
        usual: usualDtype(values),
        run: raw.steps ? readRun(raw, nodes, values) : null,
    };
}

/* The name of operand i: the last word of "a b*" stands for all further ones. */
function operandName(node, i) {
    const words = node.op.operands, word = words[Math.min(i, words.length - 1)] || "operand";
    return word.endsWith("*") ? word.slice(0, -1) + i : word.replace("?", "");
}

function resultName(node, i) {
    const words = node.op.results, word = words[Math.min(i, words.length - 1)] || "y";
    return word.endsWith("*") ? word.slice(0, -1) + i : word;
}

/* The last part of a name: all that is not the scope that it is seen in. */
function localName(name, scope) {
    return scope.path && name.startsWith(scope.path + "/") ? name.slice(scope.path.length + 1) : name;
}

/* Computed a second time, since the value was dropped to save memory. */
const isAgain = (node) => Boolean(node.step && node.step.again);

const isLeaf = (node) => ["parameter", "state", "input"].includes(node.op.role);
