/* Drawing one acyclic graph in layers, from top to bottom (Sugiyama, Tagawa, Toda 1981): edges that
 * close a circle are turned round, an item's layer is the longest path to it, long edges get a bend
 * in each layer that they pass, barycentres order the layers, and least squares place the items.
 *
 * Items are {w, h, pin}; pin "first" or "last" fixes the layer.  Edges are {from, to}, indices of
 * items.  layered() sets x and y of the items, top left, and points of the edges, and returns the
 * size of the drawing. */

const GAP_X = 16, GAP_BEND = 7, GAP_Y = 30, SWEEPS = 6;

/* Tarjan's strongly connected components, without recursion. */
function components(n, next) {
    const index = new Int32Array(n).fill(-1), low = new Int32Array(n), of = new Int32Array(n).fill(-1);
    const stack = [], calls = [];
    let visited = 0, count = 0;
    const enter = (v) => {
        index[v] = low[v] = visited++;
        stack.push(v);
        calls.push([v, 0]);
    };
    const leave = (v) => {
        if (low[v] === index[v]) {
            let w;
            do {
                w = stack.pop();
                of[w] = count;
            } while (w !== v);
            count++;
        }
    };
    for (let root = 0; root < n; root++) {
        if (index[root] >= 0)
            continue;
        enter(root);
        while (calls.length) {
            const call = calls[calls.length - 1], v = call[0];
            if (call[1] < next[v].length) {
                const w = next[v][call[1]++];
                if (index[w] < 0)
                    enter(w);
                else if (of[w] < 0)
                    low[v] = Math.min(low[v], index[w]);
            } else {
                calls.pop();
                leave(v);
                if (calls.length) {
                    const u = calls[calls.length - 1][0];
                    low[u] = Math.min(low[u], low[v]);
                }
            }
        }
    }
    return of;
}

function adjacency(n, edges) {
    const next = Array.from({length: n}, () => []);
    for (const edge of edges)
        next[edge.from].push(edge.to);
    return next;
}

/* Within a strongly connected component, edges against the order of the items are turned round. */
function turnCircles(items, edges) {
    const of = components(items.length, adjacency(items.length, edges));
    return edges.map((edge) => {
        const back = of[edge.from] === of[edge.to] && edge.from > edge.to;
        return {edge, back, from: back ? edge.to : edge.from, to: back ? edge.from : edge.to};
    });
}

/* The layer of each item. */
function longestPaths(items, arcs) {
    const n = items.length, next = adjacency(n, arcs), before = new Int32Array(n), layer = new Int32Array(n);
    arcs.forEach((arc) => before[arc.to]++);
    const queue = [];
    for (let v = 0; v < n; v++)
        if (!before[v])
            queue.push(v);
    for (let k = 0; k < queue.length; k++)
        for (const w of next[queue[k]]) {
            layer[w] = Math.max(layer[w], layer[queue[k]] + 1);
            if (--before[w] === 0)
                queue.push(w);
        }
    for (let k = queue.length - 1; k >= 0; k--)
        lowerSource(queue[k], items, arcs, next, layer);
    const last = layer.reduce((max, l) => Math.max(max, l), 0);
    items.forEach((item, v) => {
        if (item.pin === "last")
            layer[v] = Math.max(last, 1);
    });
    return layer;
}

/* What reads nothing stands right above its first reader. */
function lowerSource(v, items, arcs, next, layer) {
    if (layer[v] === 0 && !items[v].pin && next[v].length) {
        let min = Infinity;
        for (const w of next[v])
            min = Math.min(min, layer[w]);
        layer[v] = min - 1;
    }
}

/* Rows of places: an item's, or a bend's in an edge that passes through. */
function makeRows(items, arcs, layer) {
    const rows = [];
    const add = (place) => {
        (rows[place.layer] = rows[place.layer] || []).push(place);
        return place;
    };
    const places = items.map((item, v) =>
        add({item, layer: layer[v], w: item.w, up: [], down: [], x: 0, weight: item.pin ? 1 : 6}));
    for (const arc of arcs) {
        arc.chain = [places[arc.from]];
        for (let l = layer[arc.from] + 1; l < layer[arc.to]; l++)
            arc.chain.push(add({item: null, layer: l, w: 2, up: [], down: [], x: 0, weight: 1}));
        arc.chain.push(places[arc.to]);
        for (let i = 1; i < arc.chain.length; i++) {
            arc.chain[i - 1].down.push(arc.chain[i]);
            arc.chain[i].up.push(arc.chain[i - 1]);
        }
    }
    for (let l = 0; l < rows.length; l++)
        rows[l] = rows[l] || [];
    return {rows, places};
}

const number = (row) => row.forEach((place, i) => (place.rank = i));

function sortRow(row, side) {
    for (const place of row) {
        const near = place[side];
        place.key = near.length ? near.reduce((sum, p) => sum + p.rank, 0) / near.length : place.rank;
    }
    row.sort((a, b) => a.key - b.key || a.rank - b.rank);
    number(row);
}

/* Pairs of edges between two rows that cross, counted with a tree of sums (Barth, Mutzel, Jünger 2004). */
function crossings(upper, lower) {
    const sums = new Int32Array(lower.length + 1);
    let count = 0, seen = 0;
    for (const place of upper) {
        const targets = place.down.map((p) => p.rank).sort((a, b) => a - b);
        for (const rank of targets) {
            let notAfter = 0;
            for (let i = rank + 1; i > 0; i -= i & -i)
                notAfter += sums[i];
            count += seen - notAfter;
        }
        for (const rank of targets) {
            for (let i = rank + 1; i <= lower.length; i += i & -i)
                sums[i]++;
            seen++;
        }
    }
    return count;
}

function allCrossings(rows) {
    let sum = 0;
    for (let l = 1; l < rows.length; l++)
        sum += crossings(rows[l - 1], rows[l]);
    return sum;
}

function orderRows(rows) {
    rows.forEach(number);
    let best = allCrossings(rows), kept = rows.map((row) => row.slice());
    for (let sweep = 0; sweep < SWEEPS && best > 0; sweep++) {
        for (let l = 1; l < rows.length; l++)
            sortRow(rows[l], "up");
        for (let l = rows.length - 2; l >= 0; l--)
            sortRow(rows[l], "down");
        const now = allCrossings(rows);
        if (now < best) {
            best = now;
            kept = rows.map((row) => row.slice());
        }
    }
    kept.forEach((row, l) => {
        rows[l] = row;
        number(row);
    });
}

/* Centres x in the row's order and with its gaps, closest to the wished ones in the sense of least
 * squares: isotonic regression of what remains of the wishes without the gaps. */
function placeRow(row, wish) {
    const offset = [];
    row.forEach((place, i) => {
        const left = row[i - 1];
        const gap = left && (left.item || place.item ? GAP_X : GAP_BEND);
        offset[i] = left ? offset[i - 1] + left.w / 2 + gap + place.w / 2 : 0;
    });
    const blocks = [];
    row.forEach((place, i) => {
        const weight = isAlone(place) ? 1e-3 : place.weight;
        blocks.push({sum: weight * (wish[i] - offset[i]), weight, count: 1});
        for (let b = blocks.length - 1; b > 0; b--) {
            const last = blocks[b], before = blocks[b - 1];
            if (before.sum / before.weight <= last.sum / last.weight)
                break;
            before.sum += last.sum;
            before.weight += last.weight;
            before.count += last.count;
            blocks.pop();
        }
    });
    let i = 0;
    for (const block of blocks)
        for (let k = 0; k < block.count; k++, i++)
            row[i].x = block.sum / block.weight + offset[i];
}

/* Without edges, it stands beside its neighbour and moves nobody. */
const isAlone = (place) => !place.up.length && !place.down.length;

/* Boxes stand below boxes and bends below bends, before either turns to the other. */
function mean(place, places) {
    let sum = 0, weights = 0;
    for (const other of places) {
        const weight = place.item && other.item ? 8 : !place.item && !other.item ? 4 : 1;
        sum += weight * other.x;
        weights += weight;
    }
    return sum / weights;
}

function placeRows(rows) {
    rows.forEach((row) => placeRow(row, row.map(() => 0)));
    const settle = (row, near) =>
        placeRow(row, row.map((place, i) => {
            const places = near(place), left = row[i - 1];
            return places.length ? mean(place, places) : isAlone(place) && left ? left.x : place.x;
        }));
    for (let sweep = 0; sweep < SWEEPS; sweep++) {
        for (let l = 1; l < rows.length; l++)
            settle(rows[l], (place) => place.up);
        for (let l = rows.length - 2; l >= 0; l--)
            settle(rows[l], (place) => place.down);
    }
    for (const row of rows)
        settle(row, (place) => place.up.concat(place.down));
}

/* Moves all to x >= 0 and sets the items' corners and the rows' heights. */
function setCorners(rows) {
    let left = Infinity, right = -Infinity, y = 0;
    for (const row of rows)
        for (const place of row) {
            left = Math.min(left, place.x - place.w / 2);
            right = Math.max(right, place.x + place.w / 2);
        }
    const heights = rows.map((row) => {
        const h = row.reduce((max, place) => Math.max(max, place.item ? place.item.h : 0), 0);
        for (const place of row) {
            place.x -= left;
            place.top = y;
            place.bottom = y + h;
            if (place.item) {
                place.item.x = place.x - place.w / 2;
                place.item.y = y + (h - place.item.h) / 2;
            }
        }
        const bottom = y + h;
        y = bottom + (h ? GAP_Y : GAP_Y / 3);
        return bottom;
    });
    return {w: Math.max(0, right - left), h: heights.length ? heights[heights.length - 1] : 0};
}

/* Where the edges of one side of an item meet it: side by side, in the order of the other ends. */
function ports(places) {
    for (const place of places)
        for (const side of ["up", "down"]) {
            const ends = place[side + "Ends"] || [];
            ends.sort((a, b) => a.x - b.x);
            const width = Math.min(0.6 * place.w, 12 * (ends.length - 1));
            ends.forEach((end, i) => {
                const shift = ends.length > 1 ? width * (i / (ends.length - 1) - 0.5) : 0;
                end.set(place.x + shift);
            });
        }
}

function setPoints(arcs) {
    const touched = new Set();
    for (const arc of arcs) {
        const chain = arc.chain, first = chain[0], last = chain[chain.length - 1];
        const points = [{x: first.x, y: first.item.y + first.item.h}];
        for (const bend of chain.slice(1, -1))
            points.push({x: bend.x, y: bend.top}, {x: bend.x, y: bend.bottom});
        points.push({x: last.x, y: last.item.y});
        (first.downEnds = first.downEnds || []).push({x: chain[1].x, set: (x) => (points[0].x = x)});
        (last.upEnds = last.upEnds || []).push({
            x: chain[chain.length - 2].x,
            set: (x) => (points[points.length - 1].x = x),
        });
        touched.add(first).add(last);
        arc.points = points;
    }
    ports(touched);
    for (const arc of arcs)
        arc.edge.points = arc.back ? arc.points.reverse() : arc.points;
}

function layered(items, edges) {
    const arcs = turnCircles(items, edges);
    const {rows} = makeRows(items, arcs, longestPaths(items, arcs));
    orderRows(rows);
    placeRows(rows);
    const size = setCorners(rows);
    setPoints(arcs);
    return size;
}
