/* What is drawn, and where: the boxes that are visible, the edges between them, and a layout of each
 * open group around those of the groups in it.
 *
 *     box    {item, open, x, y, w, h, lines, ...}      absolute; item is a node or a group
 *     edge   {from, to, values, points, across}        between two boxes that are visible
 *
 * An edge between boxes of different groups leaves through the rim of each group on its way, so that
 * within a group it runs between the boxes.  Edges between phases run freely, from side to side. */

const HEAD = 24, PAD = 14, LINE = 15, BOX_MIN = 64, BOX_MAX = 230;
const PHASE_GAP = 110, RIM_MAX = 16;

/* ---- labels ---------------------------------------------------------------------------------- */

const ruler = document.createElement("canvas").getContext("2d");
const widths = new Map();

function textWidth(text, small) {
    const key = (small ? "s" : "b") + text;
    let width = widths.get(key);
    if (width === undefined) {
        ruler.font = (small ? "10.5px" : "600 12px") + " system-ui, sans-serif";
        width = ruler.measureText(text).width * 1.04;
        widths.set(key, width);
    }
    return width;
}

function cut(text, width, small) {
    if (textWidth(text, small) <= width)
        return text;
    let low = 0, high = text.length;
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (textWidth(text.slice(0, middle) + "…", small) <= width)
            low = middle;
        else
            high = middle - 1;
    }
    return text.slice(0, low) + "…";
}

/* Attributes worth a place in the label: not the defaults, not what shapes say. */
const isTelling = (attr) => !/=(0|false|\(\)|"")$|^(shape|dtype|key|value|data|init)/.test(attr);

function nodeLines(graph, node) {
    const value = node.outs[0], lines = [];
    const title = isLeaf(node) && value.name ? localName(value.name, node.scope) : node.op.name;
    if (value) {
        const dtype = value.dtype === graph.usual ? "" : value.dtype + " ";
        const more = node.outs.length > 1 ? "  +" + (node.outs.length - 1) : "";
        lines.push(dtype + (value.dims.length ? value.dims.join(" × ") : "scalar") + more);
    }
    const folded = node.ins
        .map((v, i) => (isFolded(v.node) ? operandName(node, i) + " = " + fillText(v.node) : null))
        .filter(Boolean);
    const details = node.attrs.filter(isTelling).concat(folded).slice(0, 3).join(", ");
    if (details && !isLeaf(node))
        lines.push(details);
    if (isAgain(node))
        lines.push("computed again");
    const outputs = node.outs.flatMap((v) => v.outputs);
    if (outputs.length)
        lines.push("→ " + outputs.join(", "));
    else if (!isLeaf(node) && value && value.name)
        lines.push(localName(value.name, node.scope));
    return [title, ...lines];
}

function groupLines(group) {
    const t = group.totals, lines = [];
    if (group.kind === "part")
        return [group.name, plural(group.all.length, "node")];
    lines.push(t.ops ? plural(t.ops, "op") : plural(group.all.length, "node"));
    if (t.parameters)
        lines.push(amountText(t.parameters) + " parameters");
    return [group.name, ...lines];
}

function measure(box) {
    const sizes = box.lines.map((line, i) => textWidth(line, i > 0));
    const extra = isGroup(box.item) ? 34 : 20;
    box.w = Math.ceil(Math.min(BOX_MAX, Math.max(BOX_MIN, Math.max(...sizes) + extra)));
    box.h = 10 + LINE * box.lines.length;
    box.lines = box.lines.map((line, i) => cut(line, box.w - extra + 8, i > 0));
}

/* ---- boxes and edges ------------------------------------------------------------------------- */

function makeBoxes(graph, group, boxes, parent) {
    const box = {item: group, open: group.open, parent, children: [], lines: groupLines(group)};
    boxes.set(group, box);
    if (!group.open) {
        measure(box);
        return box;
    }
    for (const inner of group.groups)
        box.children.push(makeBoxes(graph, inner, boxes, box));
    for (const node of group.nodes) {
        if (isFolded(node))
            continue;
        const leaf = {item: node, open: false, parent: box, children: [], lines: nodeLines(graph, node)};
        measure(leaf);
        boxes.set(node, leaf);
        box.children.push(leaf);
    }
    const first = (b) => (isGroup(b.item) ? (b.item.all.length ? b.item.all[0].id : 0) : b.item.id);
    if (group.kind !== "root")
        box.children.sort((a, b) => first(a) - first(b));
    return box;
}

function makeEdges(graph, boxes) {
    const edges = new Map(), boxOfNode = graph.nodes.map((node) => boxes.get(boxOf(node)));
    for (const value of graph.values) {
        if (isFolded(value.node))
            continue;
        const from = boxOfNode[value.node.id];
        for (const {node} of value.users) {
            const to = boxOfNode[node.id];
            if (from === to)
                continue;
            let ends = edges.get(from);
            if (!ends)
                edges.set(from, (ends = new Map()));
            let edge = ends.get(to);
            if (!edge)
                ends.set(to, (edge = {from, to, values: new Set(), points: null}));
            edge.values.add(value);
        }
    }
    const list = [];
    for (const ends of edges.values())
        for (const edge of ends.values()) {
            edge.across = edge.from.item.phase !== edge.to.item.phase;
            edge.bytes = 0;
            edge.values.forEach((value) => (edge.bytes += value.bytes));
            list.push(edge);
        }
    return list;
}

/* The boxes around a box, from the root down to itself. */
function lineage(box) {
    const line = [];
    for (let b = box; b; b = b.parent)
        line.unshift(b);
    return line;
}

/* Lays an edge's way down in the groups that it passes: `inner` edges between children of one group,
 * and `rims` where it enters or leaves a group. */
function route(edge) {
    const a = lineage(edge.from), b = lineage(edge.to);
    let k = 0;
    while (a[k] === b[k])
        k++;
    edge.legs = [];
    for (let i = a.length - 2; i >= k; i--)
        edge.legs.push([a[i], "leave", a[i + 1]]);
    edge.legs.push([a[k - 1], "inner", a[k], b[k]]);
    for (let i = k; i < b.length - 1; i++)
        edge.legs.push([b[i], "enter", b[i + 1]]);
    for (const [group, kind, x, y] of edge.legs) {
        group.ways = group.ways || {inner: new Map(), leave: new Map(), enter: new Map()};
        if (kind !== "inner")
            group.ways[kind].set(x, null);
        else {
            if (!group.ways.inner.has(x))
                group.ways.inner.set(x, new Map());
            group.ways.inner.get(x).set(y, null);
        }
    }
}

/* ---- layout ---------------------------------------------------------------------------------- */

/* Sets of children that are joined by edges. */
function islands(n, edges) {
    const of = Array.from({length: n}, (_, i) => i);
    const find = (i) => {
        while (of[i] !== i)
            i = of[i] = of[of[i]];
        return i;
    };
    edges.forEach((edge) => (of[find(edge.from)] = find(edge.to)));
    const sets = new Map();
    for (let i = 0; i < n; i++)
        sets.set(find(i), (sets.get(find(i)) || []).concat(i));
    return [...sets.values()];
}

/* Rows of blocks about as wide as high; sets dx and dy. */
function pack(blocks) {
    const area = blocks.reduce((sum, b) => sum + (b.w + GAP_X) * (b.h + GAP_Y), 0);
    const width = Math.max(1.25 * Math.sqrt(area), ...blocks.map((b) => b.w));
    let x = 0, y = 0, rowHeight = 0, right = 0;
    for (const block of blocks) {
        if (x > 0 && x + block.w > width) {
            y += rowHeight + GAP_Y;
            x = rowHeight = 0;
        }
        block.dx = x;
        block.dy = y;
        x += block.w + GAP_X;
        right = Math.max(right, x - GAP_X);
        rowHeight = Math.max(rowHeight, block.h);
    }
    return {w: right, h: y + rowHeight};
}

/* The islands one beside the other, each in layers. */
function layIslands(children, edges) {
    const blocks = islands(children.length, edges).map((set) => {
        const at = new Map(set.map((i, k) => [i, k])), items = set.map((i) => children[i]);
        const own = edges.filter((edge) => at.has(edge.from));
        const moved = own.map((edge) => ({from: at.get(edge.from), to: at.get(edge.to), edge}));
        const size = layered(items, moved);
        moved.forEach((m) => (m.edge.points = m.points));
        return {items, own, ...size};
    });
    const size = pack(blocks);
    for (const block of blocks) {
        block.items.forEach((item) => ((item.x += block.dx), (item.y += block.dy)));
        block.own.forEach((edge) =>
            (edge.points = edge.points.map((p) => ({x: p.x + block.dx, y: p.y + block.dy}))));
    }
    return size;
}

/* One drawing, with a place on the rim for each child that has edges from or to the outside. */
function layWithRims(box, children, edges, at) {
    const items = children.slice(), all = edges.slice(), rims = [];
    for (const [kind, pin] of [["enter", "first"], ["leave", "last"]]) {
        const ends = box.ways[kind];
        for (const child of ends.size <= RIM_MAX ? ends.keys() : []) {
            const rim = items.push({w: 2, h: 0, pin}) - 1, own = at.get(child);
            const edge = kind === "enter" ? {from: rim, to: own} : {from: own, to: rim};
            all.push(edge);
            rims.push({kind, child, edge});
        }
    }
    const size = layered(items, all);
    rims.forEach(({kind, child, edge}) => box.ways[kind].set(child, edge.points));
    return size;
}

function innerEdges(box, at) {
    const edges = [];
    for (const [from, ends] of box.ways.inner)
        for (const to of ends.keys())
            edges.push({from: at.get(from), to: at.get(to), ends, key: to});
    return edges;
}

/* The size of an open box; children and points are relative to its content. */
function layOut(box) {
    box.children.forEach((child) => child.open && layOut(child));
    const children = box.children, at = new Map(children.map((child, i) => [child, i]));
    box.ways = box.ways || {inner: new Map(), leave: new Map(), enter: new Map()};
    const edges = innerEdges(box, at);
    const scattered = children.length > 3 && islands(children.length, edges).length > 2;
    const size = scattered ? layIslands(children, edges) : layWithRims(box, children, edges, at);
    edges.forEach((edge) => edge.ends.set(edge.key, edge.points));
    if (box.item.phase === "backward")
        turnOver(box, size.h);
    box.w = Math.max(size.w, textWidth(box.lines[0]) + 60) + 2 * PAD;
    box.shift = {x: (box.w - size.w) / 2, y: HEAD + PAD / 2};
    box.h = size.h + HEAD + 1.5 * PAD;
}

function waysOf(box) {
    const {inner, leave, enter} = box.ways;
    return [...inner.values(), leave, enter].flatMap((ends) => [...ends.values()]).filter(Boolean);
}

/* The backward pass runs upwards, beside the forward pass that it retraces. */
function turnOver(box, height) {
    for (const child of box.children)
        child.y = height - child.y - child.h;
    for (const points of waysOf(box))
        points.forEach((p) => (p.y = height - p.y));
}

function moveTo(box, x, y) {
    box.x = x;
    box.y = y;
    if (!box.open)
        return;
    const left = x + box.shift.x, top = y + box.shift.y;
    for (const points of waysOf(box))
        points.forEach((p) => ((p.x += left), (p.y += top)));
    for (const child of box.children)
        moveTo(child, left + child.x, top + child.y);
}

/* The phases side by side, their lower ends level: the loss beside its gradient. */
function layPhases(root) {
    const phases = root.children;
    phases.forEach((phase) => (phase.open ? layOut(phase) : null));
    const height = Math.max(...phases.map((phase) => phase.h));
    let x = 0;
    for (const phase of phases) {
        moveTo(phase, x, phase.item.phase === "update" ? (height - phase.h) / 2 : height - phase.h);
        x += phase.w + PHASE_GAP;
    }
    Object.assign(root, {x: 0, y: 0, w: x - PHASE_GAP, h: height});
}

/* ---- edges as drawn -------------------------------------------------------------------------- */

function acrossPoints(edge) {
    const {from, to} = edge, right = from.x + from.w / 2 <= to.x + to.w / 2;
    return [
        {x: right ? from.x + from.w : from.x, y: from.y + from.h / 2},
        {x: right ? to.x : to.x + to.w, y: to.y + to.h / 2},
    ];
}

function edgePoints(edge) {
    if (edge.across)
        return acrossPoints(edge);
    const up = edge.from.item.phase === "backward";
    const rim = (box, low) => ({x: box.x + box.w / 2, y: low === up ? box.y : box.y + box.h});
    const ways = edge.legs.map(([group, kind, x, y]) =>
        kind === "inner" ? group.ways.inner.get(x).get(y) : group.ways[kind].get(x));
    const points = ways.flatMap((way) => way || []);
    if (!ways[0])
        points.unshift(rim(edge.from, true));
    if (!ways[ways.length - 1])
        points.push(rim(edge.to, false));
    return points;
}

/* A smooth line through the points: it leaves and meets boxes upright, or level between phases. */
function edgePath(edge) {
    const p = edge.points;
    let d = "M" + p[0].x.toFixed(1) + " " + p[0].y.toFixed(1);
    for (let i = 1; i < p.length; i++) {
        const a = p[i - 1], b = p[i];
        const mx = (a.x + b.x) / 2, my = (a.y + b.y) / 2;
        const [c1, c2] = edge.across ? [[mx, a.y], [mx, b.y]] : [[a.x, my], [b.x, my]];
        d += "C" + [...c1, ...c2, b.x, b.y].map((x) => x.toFixed(1)).join(" ");
    }
    return d;
}

function edgeText(graph, edge) {
    const values = [...edge.values], one = values[0];
    if (values.length === 1 && !isGroup(edge.from.item) && edge.from.item.outs.length === 1)
        return ""; /* the box that it leaves says so */
    const shape = (v) => (v.dims.length ? v.dims.join(" × ") : "scalar");
    const same = values.every((v) => shape(v) === shape(one));
    return (values.length > 1 ? values.length + (same ? " · " : " values") : "") + (same ? shape(one) : "");
}

/* ---- the scene ------------------------------------------------------------------------------- */

function makeScene(graph, tree) {
    const boxes = new Map(), root = makeBoxes(graph, tree.root, boxes, null);
    const edges = makeEdges(graph, boxes);
    edges.filter((edge) => !edge.across).forEach(route);
    layPhases(root);
    const written = new Set();
    for (const edge of edges) {
        edge.points = edgePoints(edge);
        edge.text = edge.across ? "" : edgeText(graph, edge);
        const key = itemId(edge.from.item) + " " + edge.text;
        if (written.has(key))
            edge.text = "";
        written.add(key);
        const xs = edge.points.map((p) => p.x), ys = edge.points.map((p) => p.y);
        Object.assign(edge, {
            left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys),
        });
    }
    return {root, boxes, edges};
}
