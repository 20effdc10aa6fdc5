/* The scene as SVG, of which only what the window shows is drawn; panning and zooming.
 *
 * A view is {x, y, k}: a point p of the scene is seen at k p + (x, y). */

const MARGIN = 0.5, K_MIN = 0.01, K_MAX = 4;
const READABLE = 0.62, FIRST_MISSES = 6;
const ACROSS_MAX = 140; /* more edges between phases are drawn for the selection alone */

const itemId = (item) => (isGroup(item) ? "g" : "n") + item.id;

function makeView(app) {
    const svg = byId("view"), world = byId("world");
    const view = {x: 0, y: 0, k: 1, drawn: null, due: false};

    /* ---- colours ---- */

    function heat(share) {
        const percent = (100 * Math.sqrt(Math.min(1, Math.max(0, share)))).toFixed(0);
        return "--fill: color-mix(in srgb, rgb(var(--hot)) " + percent + "%, var(--paper)); --line: var(--scope-line)";
    }

    function styleOf(item) {
        if (app.colours !== "kind")
            return heat(app.shareOf(item, app.colours));
        if (isGroup(item))
            return null;
        const kind = app.graph.kinds.get(item.op.kind);
        return "--fill: " + kind.fill + "; --line: " + kind.line + "; --text: " + kind.text;
    }

    /* ---- pieces ---- */

    /* From afar a box has its title alone, and larger. */
    const isFar = () => view.k < 0.5;

    const rect = (x, y, w, h, attributes) => drawn("rect", {x, y, width: w, height: h, ...attributes});
    const label = (x, y, text, attributes) => drawn("text", {x, y, ...attributes}, text);

    function classes(item, ...names) {
        if (app.selected === item)
            names.push("selected");
        if (app.hits.boxes.has(item))
            names.push("hit");
        return names.join(" ");
    }

    function drawFrame(box) {
        const {item, x, y, w, h} = box, most = view.k < 0.28 ? Math.min(0.3 * h, 13 / view.k) : 17;
        const size = Math.min(Math.max(12, 11 / view.k), most);
        const g = drawn("g", {
            class: classes(item, "frame"), "data-id": itemId(item), role: "button",
            "aria-expanded": "true", "aria-label": pathOf(item) || item.name,
        });
        g.append(
            rect(x, y, w, h, {rx: 8}),
            rect(x, y, w, Math.max(HEAD, Math.min(1.5 * size, h)), {class: "bar", rx: 8}),
            label(x + 10, y + Math.max(HEAD / 2, 0.75 * size), "▾ " + item.name, {
                class: "strong", style: "font-size: " + size.toFixed(1) + "px",
            }));
        return g;
    }

    function hitsBadge(box) {
        const count = app.hits.boxes.get(box.item), text = String(count), w = textWidth(text, true) + 12;
        if (!count || !isGroup(box.item))
            return null;
        return drawn("g", {class: "badge"}, rect(box.x + box.w - w / 2 - 4, box.y - 8, w, 16, {rx: 8}),
            label(box.x + box.w - 4, box.y, text, {"text-anchor": "middle"}));
    }

    function drawBox(box) {
        const {item, x, y, w, h, lines} = box, group = isGroup(item);
        const g = drawn("g", {
            class: classes(item, "box", group ? "scope" : "op"), "data-id": itemId(item), role: "button",
            style: styleOf(item), "aria-expanded": group ? "false" : null, "aria-label": lines.join(", "),
        });
        g.append(rect(x, y, w, h, {rx: group ? 6 : isLeaf(item) ? h / 2 : 4}));
        if (group)
            g.append(rect(x + 4, y + h, w - 8, 3, {class: "behind", rx: 1.5}));
        const title = (group ? "▸ " : "") + lines[0], shown = isFar() ? lines.slice(0, 1) : lines;
        const size = isFar() ? Math.min(20, 0.6 * h, (12 * (w - 8)) / textWidth(title)) : 12;
        shown.forEach((line, i) =>
            g.append(label(x + w / 2, isFar() ? y + h / 2 : y + 5 + LINE * (i + 0.5), i ? line : title, {
                class: i ? "small" : "strong", "text-anchor": "middle", style: i ? null : "font-size: " + size + "px",
            })));
        const badge = hitsBadge(box);
        if (badge)
            g.append(badge);
        return g;
    }

    /* How an edge stands to the selection: it brings an operand, takes a result, or neither. */
    function roleOf(edge) {
        const box = app.selected && app.scene.boxes.get(app.selected);
        return edge === app.edge ? "chosen" : !box ? "" : edge.to === box ? "operand" : edge.from === box ? "user" : "";
    }

    function drawEdge(edge, quiet) {
        const role = roleOf(edge);
        if (edge.across && quiet && !role)
            return [];
        const d = edgePath(edge), width = Math.min(4, 0.7 + 0.35 * Math.log10(1 + edge.bytes / 1024));
        const line = drawn("path", {
            class: ["edge", edge.across ? "across" : "", role].join(" "), d, "stroke-width": width.toFixed(2),
            "marker-end": "url(#arrow" + (role === "operand" || role === "user" ? "-" + role : "") + ")",
        });
        const touch = drawn("path", {class: "touch", d});
        touch.edge = edge;
        return [touch, line];
    }

    /* In the gap below the box that an edge leaves, where no box is; and where no other text is. */
    function drawEdgeTexts(edges) {
        const written = [];
        for (const edge of edges) {
            const [a, b] = edge.points, half = edge.text ? textWidth(edge.text, true) / 2 : 0;
            const place = {x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, half, text: edge.text};
            const free = written.every((w) => Math.abs(w.y - place.y) > 12 || Math.abs(w.x - place.x) > w.half + half);
            if (edge.text && free)
                written.push(place);
        }
        return written.map(({x, y, text}) => label(x, y, text, {class: "edge-text"}));
    }

    /* ---- drawing ---- */

    function area(margin) {
        const w = svg.clientWidth, h = svg.clientHeight;
        return {
            left: (-view.x - margin * w) / view.k, right: (w - view.x + margin * w) / view.k,
            top: (-view.y - margin * h) / view.k, bottom: (h - view.y + margin * h) / view.k,
        };
    }

    const meets = (a, left, top, right, bottom) => a.left <= right && left <= a.right && a.top <= bottom && top <= a.bottom;

    /* What is smaller than a few pixels is not drawn, nor is what it holds. */
    function collect(box, a, frames, boxes) {
        if (!meets(a, box.x, box.y, box.x + box.w, box.y + box.h) || box.h * view.k < 2)
            return;
        if (!box.open)
            boxes.push(box);
        else {
            if (box.item.kind !== "root")
                frames.push(box);
            box.children.forEach((child) => collect(child, a, frames, boxes));
        }
    }

    function visibleEdges(a) {
        const least = 3 / view.k;
        return app.scene.edges.filter((edge) =>
            meets(a, edge.left, edge.top, edge.right, edge.bottom) &&
            (edge.right - edge.left > least || edge.bottom - edge.top > least));
    }

    function draw() {
        view.due = false;
        const a = area(MARGIN), frames = [], boxes = [], edges = visibleEdges(a);
        collect(app.scene.root, a, frames, boxes);
        const quiet = app.scene.edges.filter((edge) => edge.across).length > ACROSS_MAX;
        world.replaceChildren(
            ...frames.map(drawFrame),
            ...edges.flatMap((edge) => drawEdge(edge, quiet)),
            ...boxes.map(drawBox),
            ...(!isFar() ? drawEdgeTexts(edges) : []));
        world.classList.toggle("kinds", app.colours === "kind");
        world.classList.toggle("focused", Boolean(app.selected && app.scene.boxes.get(app.selected)));
        view.drawn = {...a, k: view.k, far: isFar()};
        move();
    }

    function schedule() {
        if (!view.due) {
            view.due = true;
            requestAnimationFrame(draw);
        }
    }

    function move() {
        world.setAttribute("transform", "translate(" + view.x + " " + view.y + ") scale(" + view.k + ")");
        world.classList.toggle("farther", view.k < 0.28);
        const d = view.drawn, a = area(0);
        if (d && (a.left < d.left || a.right > d.right || a.top < d.top || a.bottom > d.bottom ||
            view.k / d.k > 1.3 || d.k / view.k > 1.3 || d.far !== isFar()))
            schedule();
    }

    /* ---- moving ---- */

    function zoom(factor, sx = svg.clientWidth / 2, sy = svg.clientHeight / 2) {
        const k = Math.min(K_MAX, Math.max(K_MIN, view.k * factor));
        view.x = sx - (sx - view.x) * (k / view.k);
        view.y = sy - (sy - view.y) * (k / view.k);
        view.k = k;
        move();
    }

    function pan(dx, dy) {
        view.x += dx;
        view.y += dy;
        move();
    }

    function center(x, y, k = view.k) {
        view.k = k;
        view.x = svg.clientWidth / 2 - k * x;
        view.y = svg.clientHeight / 2 - k * y;
        move();
    }

    function fit(box = app.scene.root) {
        center(box.x + box.w / 2, box.y + box.h / 2, Math.max(fittingScale(box), K_MIN));
    }

    const fittingScale = (box) => Math.min(1.25, svg.clientWidth / (box.w + 40), svg.clientHeight / (box.h + 40));

    /* The first sight: scopes open, from the outside and in all phases at once, as long as all can
     * be read. */
    function begin() {
        const scopes = new Map(), depth = (path) => path.split("/").length;
        for (const group of app.tree.groups)
            if (group.kind === "scope")
                scopes.set(pathOf(group), (scopes.get(pathOf(group)) || []).concat(group));
        let misses = 0;
        for (const path of [...scopes.keys()].sort((a, b) => depth(a) - depth(b))) {
            const groups = scopes.get(path).filter((group) => group.parent.open);
            groups.forEach((group) => (group.open = true));
            if (!groups.length || fittingScale(makeScene(app.graph, app.tree).root) >= READABLE)
                continue;
            groups.forEach((group) => (group.open = false));
            if (++misses === FIRST_MISSES)
                break;
        }
        app.scene = makeScene(app.graph, app.tree);
        fit();
    }

    const isSeen = (box) => {
        const a = area(-0.05);
        return a.left < box.x && box.x + box.w < a.right && a.top < box.y && box.y + box.h < a.bottom;
    };

    function show(box) {
        if (!isSeen(box) || view.k < 0.5)
            center(box.x + box.w / 2, box.y + Math.min(box.h / 2, svg.clientHeight / 2 / view.k),
                Math.max(view.k, Math.min(1, svg.clientWidth / (box.w + 80))));
    }

    return Object.assign(view, {svg, world, draw, schedule, zoom, pan, fit, begin, show, center});
}

/* ---- the mouse and fingers ------------------------------------------------------------------- */

function listenToPointer(app) {
    const view = app.view, svg = view.svg, fingers = new Map();
    let moved = 0;

    const place = (event) => {
        const r = svg.getBoundingClientRect();
        return {x: event.clientX - r.left, y: event.clientY - r.top};
    };
    const spread = () => {
        const [a, b] = [...fingers.values()];
        return b ? Math.hypot(a.x - b.x, a.y - b.y) : 0;
    };

    svg.addEventListener("wheel", (event) => {
        event.preventDefault();
        const p = place(event), step = event.deltaMode === 1 ? 30 : 1;
        if (event.shiftKey)
            view.pan(-event.deltaY * step - event.deltaX * step, 0);
        else
            view.zoom(Math.exp(-event.deltaY * step * (event.ctrlKey ? 0.01 : 0.0015)), p.x, p.y);
    }, {passive: false});

    svg.addEventListener("pointerdown", (event) => {
        fingers.set(event.pointerId, place(event));
        moved = 0;
    });
    svg.addEventListener("pointermove", (event) => {
        const before = fingers.get(event.pointerId), now = place(event);
        if (!before)
            return app.hint(event);
        const old = spread();
        moved += Math.hypot(now.x - before.x, now.y - before.y);
        if (moved < 4)
            return;
        svg.setPointerCapture(event.pointerId);
        svg.classList.add("dragged");
        app.hint(null);
        fingers.set(event.pointerId, now);
        if (fingers.size === 1)
            view.pan(now.x - before.x, now.y - before.y);
        else if (old > 0)
            view.zoom(spread() / old, now.x, now.y);
    });
    const release = (event) => {
        fingers.delete(event.pointerId);
        svg.classList.remove("dragged");
    };
    svg.addEventListener("pointerup", release);
    svg.addEventListener("pointercancel", release);
    svg.addEventListener("pointerleave", () => app.hint(null));
    svg.addEventListener("click", (event) => {
        if (moved < 4)
            app.click(event.target);
    });
}
