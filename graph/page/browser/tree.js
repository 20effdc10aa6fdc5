/* Groups: what opens and closes.  A group is a phase, a scope in one phase, or a part of a scope
 * that has too many nodes to be seen at once.
 *
 *     group  {id, kind, name, phase, scope, parent, groups, nodes, open, depth, all, totals}
 *
 * `nodes` are those directly in it, `all` those in it and in its groups, by id. */

/* Scopes with more nodes than this have them in parts. */
const CROWD = 90, PART = 40;

function makeGroup(tree, parent, kind, name, phase, scope) {
    const group = {
        id: tree.groups.length, kind, name, phase, scope, parent,
        groups: [], nodes: [], all: [], open: false, depth: parent ? parent.depth + 1 : 0,
    };
    tree.groups.push(group);
    if (parent)
        parent.groups.push(group);
    return group;
}

function scopeGroup(tree, phase, scope) {
    const key = phase + ":" + scope.path;
    let group = tree.byKey.get(key);
    if (!group) {
        const parent = scope.parent ? scopeGroup(tree, phase, scope.parent) : tree.root;
        group = makeGroup(tree, parent, scope.parent ? "scope" : "phase", scope.parent ? scope.name : phase, phase, scope);
        tree.byKey.set(key, group);
    }
    return group;
}

/* A number in every element: written in the label of the op that reads it, without a box. */
function isFolded(node) {
    return node.op.role === "fill" && node.outs[0].users.length > 0 && !node.outs[0].outputs.length &&
        !node.outs[0].assigned;
}

const fillText = (node) => (node.attrs.find((a) => a.startsWith("value=")) || node.attrs[0] || "").replace(/^.*=/, "");

function part(tree, group, name, nodes) {
    const made = makeGroup(tree, group, "part", name, group.phase, group.scope);
    made.nodes = nodes;
    return made;
}

/* Leaves by their role; the others, in their order, in runs of PART.  Parts of parts where there are
 * too many. */
function divide(tree, group) {
    const shown = group.nodes.filter((node) => !isFolded(node));
    const rest = [];
    for (const role of ["parameter", "state", "input"]) {
        const leaves = shown.filter((node) => node.op.role === role);
        if (leaves.length > 8)
            part(tree, group, plural(leaves.length, role), leaves);
        else
            rest.push(...leaves);
    }
    rest.push(...shown.filter((node) => !isLeaf(node)));
    const folded = group.nodes.filter(isFolded);
    group.nodes = rest.length > CROWD ? folded : rest.concat(folded);
    if (rest.length > CROWD)
        divideRun(tree, group, rest);
}

function divideRun(tree, group, nodes) {
    let size = PART;
    while (nodes.length / size > PART)
        size *= PART;
    for (let i = 0; i < nodes.length; i += size) {
        const run = nodes.slice(i, i + size);
        const made = part(tree, group, "nodes " + run[0].id + " – " + run[run.length - 1].id, run);
        if (size > PART) {
            made.nodes = [];
            divideRun(tree, made, run);
        }
    }
}

function sumUp(group) {
    for (const inner of group.groups)
        sumUp(inner);
    group.all = group.groups.flatMap((inner) => inner.all).concat(group.nodes);
    group.all.sort((a, b) => a.id - b.id);
    const t = (group.totals = {ops: 0, parameters: 0, flops: 0, bytes: 0, seconds: 0});
    for (const node of group.all) {
        t.ops += !isLeaf(node) && !isFolded(node);
        t.parameters += node.op.role === "parameter" ? node.outs[0].count : 0;
        t.flops += node.flops;
        t.bytes += isLeaf(node) ? 0 : node.outs.reduce((sum, value) => sum + value.bytes, 0);
        t.seconds += node.step ? node.step.seconds : 0;
    }
}

/* Groups in the order of their first node, as the model was built. */
function order(group) {
    const first = (inner) => (inner.all.length ? inner.all[0].id : 0);
    if (group.kind !== "root")
        group.groups.sort((a, b) => first(a) - first(b));
    group.groups.forEach(order);
}

function makeTree(graph) {
    const tree = {groups: [], byKey: new Map(), root: null};
    tree.root = makeGroup(tree, null, "root", graph.title, null, null);
    for (const phase of graph.phases)
        for (const node of graph.nodes)
            if (node.phase === phase)
                scopeGroup(tree, phase, node.scope).nodes.push(node);
    for (const group of tree.groups.slice())
        divide(tree, group);
    sumUp(tree.root);
    order(tree.root);
    for (const group of tree.groups)
        for (const node of group.nodes)
            node.group = group;
    tree.root.open = true;
    tree.root.groups.forEach((phase) => (phase.open = true));
    return tree;
}

/* ---- opening and closing --------------------------------------------------------------------- */

function closeAll(tree) {
    for (const group of tree.groups)
        group.open = group.depth < 2;
}

function openWithin(group) {
    group.open = true;
    group.groups.forEach(openWithin);
}

/* Opens what hides a node or a group. */
function reveal(item) {
    for (let group = item.group || item.parent; group; group = group.parent)
        group.open = true;
}

/* The box in which a node is seen: itself, the outermost closed group around it, or for a folded
 * number that of a reader. */
function boxOf(node) {
    if (isFolded(node))
        return boxOf(node.outs[0].users[0].node);
    let box = node;
    for (let group = node.group; group; group = group.parent)
        if (!group.open)
            box = group;
    return box;
}

const isGroup = (item) => item.groups !== undefined;
const parentOf = (item) => (isGroup(item) ? item.parent : item.group);

/* What a group or a node is called in links and breadcrumbs. */
function pathOf(group) {
    const names = [];
    for (let g = group; g && g.kind !== "root"; g = g.parent)
        if (g.kind !== "phase")
            names.unshift(g.name);
    return names.join("/");
}
