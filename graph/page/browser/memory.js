/* The memory of a run: bytes of the buffer that are live at each step, by scope. */

const SHADES = 20; /* scopes with colours of their own */

/* The scopes that colour the chart: as deep as leaves at most SHADES of them. */
function shadesOf(graph) {
    const nameAt = (scope, depth) => scope.names.slice(0, depth).join("/") || "(no scope)";
    const nodes = graph.run.steps.map((step) => step.node);
    let depth = 1;
    while (depth < 6 && new Set(nodes.map((node) => nameAt(node.scope, depth + 1))).size <= SHADES)
        depth++;
    const names = [...new Set(nodes.map((node) => nameAt(node.scope, depth)))];
    const shown = names.slice(0, SHADES);
    const other = names.length > SHADES ? shown.push("other scopes") - 1 : -1;
    const number = new Map(names.map((name, i) => [name, i < SHADES ? i : other]));
    return {names: shown, of: (node) => number.get(nameAt(node.scope, depth))};
}

const shadeColour = (i, n) => "hsl(" + Math.round((i * 360) / n + 210) % 360 + " 52% " + (i % 2 ? 58 : 50) + "%)";

/* The node that a block is of: that which fills it first. */
function ownerOf(block, run) {
    if (block.scratchOf)
        return block.scratchOf.node;
    const first = run.steps[block.first];
    const value = block.values.find((v) => v.node === (first && first.node)) || block.values[0];
    return value ? value.node : first && first.node;
}

/* live[shade][step], total[step] and the peak. */
function liveBytes(graph, shades) {
    const run = graph.run, n = run.steps.length + 1;
    const live = shades.names.map(() => new Float64Array(n + 1)), total = new Float64Array(n);
    for (const block of run.blocks) {
        const owner = block.bytes ? ownerOf(block, run) : null;
        const shade = owner ? shades.of(owner) : undefined;
        if (shade === undefined)
            continue;
        live[shade][block.first] += block.bytes;
        live[shade][Math.min(block.last, n - 1) + 1] -= block.bytes;
    }
    for (const row of live)
        for (let i = 1; i < n; i++)
            row[i] += row[i - 1];
    let peak = 0;
    for (let i = 0; i < n; i++) {
        total[i] = live.reduce((sum, row) => sum + row[i], 0);
        if (total[i] > total[peak])
            peak = i;
    }
    return {live, total, peak, n};
}

/* 1, 2, 4, ... of a unit, four of which are about the height. */
function tick(max) {
    return 2 ** Math.ceil(Math.log2(Math.max(max, 1) / 4));
}

function makeMemory(app) {
    const {graph} = app, section = byId("memory"), run = graph.run;
    if (!run || !run.steps.length || !run.blocks.some((b) => b.bytes)) {
        section.className = "empty";
        section.append(element("p", {class: "soft"}, run ? "The plan keeps nothing in its buffer." :
            "Memory is known of a plan only: make the page with wengert graph --plan --html FILE."));
        return {draw: () => {}, note: ""};
    }
    const shades = shadesOf(graph), {live, total, peak, n} = liveBytes(graph, shades);
    const canvas = element("canvas", {
        tabindex: "0", role: "slider", "aria-label": "Step of the run", "aria-valuemin": "0", "aria-valuemax": String(n - 1),
    });
    const alive = element("div", {id: "alive", class: "live"});
    const scopes = element("div", {id: "scopes", class: "live"});
    section.append(element("div", {id: "chart"}, canvas), scopes, alive);
    const LEFT = 62, TOP = 16, BELOW = 20;
    let cursor = peak;

    const size = () => ({w: canvas.clientWidth - LEFT - 4, h: canvas.clientHeight - TOP - BELOW});
    const xOf = (step) => LEFT + ((step + 0.5) * size().w) / n;
    const stepAt = (x) => Math.max(0, Math.min(n - 1, Math.floor(((x - LEFT) * n) / size().w)));
    const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);

    /* The step of the largest total in each column of pixels. */
    function columns(w) {
        const steps = [];
        for (let x = 0; x < w; x++) {
            const from = Math.floor((x * n) / w), to = Math.max(from + 1, Math.floor(((x + 1) * n) / w));
            let best = from;
            for (let i = from; i < to && i < n; i++)
                if (total[i] > total[best])
                    best = i;
            steps.push(best);
        }
        return steps;
    }

    function drawAreas(c, w, h, scale) {
        const steps = columns(w);
        live.forEach((row, shade) => {
            c.fillStyle = shadeColour(shade, shades.names.length);
            c.beginPath();
            steps.forEach((step, x) => {
                let below = 0;
                for (let s = 0; s < shade; s++)
                    below += live[s][step];
                if (row[step])
                    c.rect(LEFT + x, TOP + h - (below + row[step]) * scale, 1.05, row[step] * scale);
            });
            c.fill();
        });
    }

    function drawAxes(c, w, h, scale) {
        const step = tick(total[peak]);
        c.font = "10.5px system-ui, sans-serif";
        c.textBaseline = "middle";
        c.textAlign = "right";
        for (let bytes = 0; bytes * scale <= h; bytes += step) {
            const y = Math.round(TOP + h - bytes * scale) + 0.5;
            c.fillStyle = style("--rule");
            c.fillRect(LEFT, y, w, 0.7);
            c.fillStyle = style("--soft");
            c.fillText(bytesText(bytes), LEFT - 6, y);
        }
    }

    /* Below the chart: which phase runs. */
    function drawPhases(c, w, h) {
        const colours = {forward: "--operand", backward: "--user", update: "--hit"};
        c.textBaseline = "alphabetic";
        c.textAlign = "center";
        for (let from = 0; from < run.steps.length;) {
            const phase = run.steps[from].node.phase;
            let to = from;
            while (to < run.steps.length && run.steps[to].node.phase === phase)
                to++;
            const x = LEFT + (from * w) / n, width = ((to - from) * w) / n;
            c.fillStyle = style(colours[phase]);
            c.fillRect(x, TOP + h + 3, Math.max(1, width - 1), 3);
            c.fillStyle = style("--soft");
            if (width > 64)
                c.fillText(phase, x + width / 2, TOP + h + 17);
            from = to;
        }
    }

    function drawMark(c, step, h, colour, text) {
        const x = xOf(step), wide = c.measureText(text).width;
        c.fillStyle = colour;
        c.fillRect(x - 0.75, TOP - 2, 1.5, h + 4);
        c.textAlign = x + wide + 8 > canvas.clientWidth ? "right" : "left";
        c.textBaseline = "alphabetic";
        c.fillText(text, x + (c.textAlign === "left" ? 4 : -4), TOP - 4);
    }

    function draw() {
        const ratio = window.devicePixelRatio || 1, {w, h} = size();
        if (w <= 10 || h <= 10)
            return;
        canvas.width = canvas.clientWidth * ratio;
        canvas.height = canvas.clientHeight * ratio;
        const c = canvas.getContext("2d"), scale = h / Math.max(1, total[peak]);
        c.scale(ratio, ratio);
        drawAxes(c, w, h, scale);
        drawAreas(c, w, h, scale);
        drawPhases(c, w, h);
        const near = cursor !== peak && Math.abs(xOf(cursor) - xOf(peak)) < 175;
        drawMark(c, peak, h, style("--user"), near ? "" : "peak " + bytesText(total[peak]) + " at step " + peak);
        if (cursor !== peak)
            drawMark(c, cursor, h, style("--ink"), bytesText(total[cursor]) + " at step " + cursor);
    }

    /* ---- what is live at the cursor ---- */

    function aliveRow(block) {
        const owner = ownerOf(block, run), value = block.values[0];
        const name = block.scratchOf ? "scratch of " + owner.op.name : (value && value.name) || owner.op.name;
        return element("li", {title: pathOf(owner.group)},
            swatch(shades.of(owner)),
            element("span", {class: "size"}, bytesText(block.bytes)),
            element("a", {href: "#" + itemId(owner)}, name + (pathOf(owner.group) ? " in " + pathOf(owner.group) : "")));
    }

    const swatch = (shade) =>
        element("span", {class: "swatch", style: "border: 0; background: " + shadeColour(shade, shades.names.length)});

    /* The legend of the chart with the bytes at the cursor: what is live in the order of the chart,
     * from top to bottom, then the rest. */
    function listScopes() {
        const row = (shade) => element("li", {}, swatch(shade),
            element("span", {class: "size"}, live[shade][cursor] ? bytesText(live[shade][cursor]) : "–"),
            element("span", {}, shades.names[shade]));
        const order = shades.names.map((name, shade) => shade).reverse();
        const lives = (shade) => live[shade][cursor] > 0;
        scopes.replaceChildren(element("h3", {}, "Step " + cursor + ", by scope"), element("ol", {},
            order.filter(lives).map(row), order.filter((shade) => !lives(shade)).map(row)));
    }

    function listAlive() {
        const blocks = run.blocks.filter((b) => b.bytes && b.first <= cursor && cursor <= b.last && ownerOf(b, run));
        blocks.sort((a, b) => b.bytes - a.bytes);
        alive.replaceChildren(
            element("h3", {}, "Live at step " + cursor + (cursor === peak ? ", the peak" : "") + ": " + bytesText(total[cursor])),
            element("ol", {}, blocks.slice(0, 50).map(aliveRow),
                blocks.length > 50 ? element("li", {}, "", "", blocks.length - 50 + " smaller ones") : null));
    }

    function moveTo(step) {
        cursor = Math.max(0, Math.min(n - 1, step));
        const node = cursor < run.steps.length ? run.steps[cursor].node : null;
        canvas.setAttribute("aria-valuenow", String(cursor));
        canvas.setAttribute("aria-valuetext", "step " + cursor + ", " + bytesText(total[cursor]) + " live" + (node ? ", " + node.op.name : ""));
        draw();
        listScopes();
        listAlive();
    }

    const go = () => cursor < run.steps.length && app.jump(run.steps[cursor].node);

    canvas.addEventListener("pointermove", (event) => moveTo(stepAt(event.offsetX)));
    canvas.addEventListener("pointerleave", () => moveTo(app.selected && app.selected.step ? app.selected.step.index : peak));
    canvas.addEventListener("click", go);
    canvas.addEventListener("keydown", (event) => {
        const step = {ArrowLeft: -1, ArrowRight: 1, PageUp: -50, PageDown: 50}[event.key];
        if (step)
            moveTo(cursor + step);
        else if (event.key === "Enter")
            go();
        else if (event.key === "Home" || event.key === "End")
            moveTo(event.key === "Home" ? 0 : n - 1);
        else
            return;
        event.preventDefault();
        event.stopPropagation();
    });
    moveTo(peak);
    return {draw, moveTo, note: "peak " + bytesText(total[peak]) + " of values and scratch in a buffer of " + bytesText(run.buffer) +
        "; parameters, states and inputs are kept elsewhere"};
}
