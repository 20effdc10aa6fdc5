/* The page: what is selected, found and open, and the keys. */

function makeApp(graph) {
    const app = {
        graph, tree: makeTree(graph), scene: null, selected: null, edge: null, colours: "kind",
        hits: {nodes: [], boxes: new Map()},
    };

    /* ---- what boxes show ---- */

    const sums = {
        time: (item) => (isGroup(item) ? item.totals.seconds : item.step ? item.step.seconds : 0),
        flops: (item) => (isGroup(item) ? item.totals.flops : item.flops),
        bytes: (item) => (isGroup(item) ? item.totals.bytes : isLeaf(item) ? 0 : item.outs.reduce((sum, v) => sum + v.bytes, 0)),
    };
    app.shareOf = (item, what) => sums[what](item) / (sums[what](app.tree.root) || 1);

    app.countHits = () => {
        app.hits.boxes = new Map();
        for (const node of app.hits.nodes) {
            const box = boxOf(node);
            app.hits.boxes.set(box, (app.hits.boxes.get(box) || 0) + 1);
        }
    };

    /* ---- changes ---- */

    /* After something was opened or closed.  What is given stays where it is on the screen. */
    app.changed = (item) => {
        const before = item && app.scene.boxes.get(item), {view} = app;
        app.scene = makeScene(graph, app.tree);
        const after = item && app.scene.boxes.get(item);
        if (before && after) {
            view.x += view.k * (before.x - after.x);
            view.y += view.k * (before.y - after.y);
        }
        app.edge = null;
        app.countHits();
        view.draw();
        app.panel.show();
    };

    app.toggle = (group) => {
        if (group.kind === "root")
            return;
        group.open = !group.open;
        app.selected = group;
        app.changed(group);
        app.tell(group.name + (group.open ? " opened" : " closed"));
        app.remember();
    };

    app.select = (item, quiet) => {
        app.selected = item;
        app.edge = null;
        app.view.draw();
        app.panel.show();
        if (app.memory.moveTo && item && item.step)
            app.memory.moveTo(item.step.index);
        if (item)
            app.tell((app.scene.boxes.get(item) || {lines: [item.name || item.op.name]}).lines.join(", "));
        if (!quiet)
            app.remember();
    };

    app.remember = () => {
        const hash = app.selected ? "#" + itemId(app.selected) : "#";
        if (location.hash !== hash && !(hash === "#" && !location.hash))
            history.pushState(null, "", hash);
    };

    /* Opens what hides it, and shows it in the middle. */
    app.jump = (item, quiet) => {
        const hidden = !app.scene.boxes.has(item);
        reveal(item);
        app.selected = item;
        if (hidden)
            app.changed(null);
        app.select(item, quiet);
        const box = app.scene.boxes.get(isGroup(item) ? item : boxOf(item));
        app.view.show(box);
        app.view.draw();
        const shown = app.view.world.querySelector('[data-id="' + itemId(item) + '"]');
        if (shown)
            shown.classList.add("flash");
    };

    app.zoomTo = (item) => {
        const box = app.scene.boxes.get(item);
        if (box)
            app.view.fit(box);
    };

    app.find = (text) => app.finder.find(text);
    app.tell = (text) => (byId("news").textContent = text);

    app.closeAll = () => {
        closeAll(app.tree);
        app.selected = null;
        app.changed(null);
        app.view.fit();
    };

    /* ---- the mouse ---- */

    const itemOf = (id) => (id[0] === "g" ? app.tree.groups : graph.nodes)[Number(id.slice(1))];
    const hold = (target) => target.closest && target.closest("[data-id]");

    app.click = (target) => {
        if (target.edge) {
            app.selected = null;
            app.edge = target.edge;
            app.view.draw();
            app.panel.show();
            return;
        }
        const held = hold(target), item = held && itemOf(held.dataset.id);
        if (!item)
            app.select(null);
        else if (isGroup(item) && (!item.open || target.classList.contains("bar")))
            app.toggle(item);
        else
            app.select(item);
    };

    function hintText(target) {
        if (target.edge)
            return plural(target.edge.values.size, "value") + ", " + bytesText(target.edge.bytes) + "\n" +
                [...target.edge.values].slice(0, 6).map((v) => (v.name || v.node.op.name) + "  " + typeText(v)).join("\n");
        const held = hold(target), item = held && itemOf(held.dataset.id);
        if (!item || (isGroup(item) && item.open && !target.classList.contains("bar")))
            return "";
        if (isGroup(item))
            return pathOf(item) + "\n" + plural(item.totals.ops, "op") + ", " + amountText(item.totals.flops, "FLOP") + "\n" +
                (item.open ? "Click to close" : "Click to open");
        return item.op.name + (item.op.formula ? "\n" + item.op.formula : "") +
            item.outs.slice(0, 3).map((v) => "\n" + (v.name ? v.name + "  " : "") + typeText(v)).join("");
    }

    app.hint = (event) => {
        const hint = byId("hint"), text = event ? hintText(event.target) : "";
        hint.hidden = !text;
        if (!text)
            return;
        hint.textContent = text;
        const r = byId("stage").getBoundingClientRect();
        const x = event.clientX - r.left, y = event.clientY - r.top;
        hint.style.left = Math.max(4, Math.min(x + 14, r.width - hint.offsetWidth - 8)) + "px";
        hint.style.top = Math.max(4, y + 18 + hint.offsetHeight > r.height ? y - hint.offsetHeight - 8 : y + 18) + "px";
    };

    app.fromHash = () => {
        const match = /^#([gn])(\d+)$/.exec(location.hash), item = match && itemOf(match[1] + match[2]);
        if (item)
            app.jump(item, true);
        else
            app.select(null, true);
    };
    return app;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* The box nearest to the selection in a direction; crosswise distance counts double. */
function neighbour(app, dx, dy) {
    const from = app.selected && app.scene.boxes.get(app.selected);
    let best = null, least = Infinity;
    for (const box of app.scene.boxes.values()) {
        if (box === from || box.open)
            continue;
        if (!from)
            return box;
        const x = box.x + box.w / 2 - from.x - from.w / 2, y = box.y + box.h / 2 - from.y - from.h / 2;
        const along = x * dx + y * dy, aside = Math.abs(x * dy) + Math.abs(y * dx);
        if (along > 4 && along + 2 * aside < least) {
            least = along + 2 * aside;
            best = box;
        }
    }
    return best;
}

const ARROWS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};

function onArrow(app, [dx, dy], shift) {
    if (shift)
        return app.view.pan(-90 * dx, -90 * dy);
    const box = neighbour(app, dx, dy);
    if (box) {
        app.select(box.item);
        app.view.show(box);
    }
}

function closeAround(app) {
    const item = app.selected;
    const group = item && (isGroup(item) && item.open ? item : parentOf(item));
    if (group && group.open)
        app.toggle(group);
}

const KEYS = {
    "+": (app) => app.view.zoom(1.25), "=": (app) => app.view.zoom(1.25), "-": (app) => app.view.zoom(0.8),
    "0": (app) => app.view.fit(), "z": (app) => app.zoomTo(app.selected || app.tree.root),
    "c": (app) => app.closeAll(), "m": (app) => app.foldDock(), "t": (app) => app.turnTheme(),
    "n": (app) => app.finder.next(1), "N": (app) => app.finder.next(-1), "?": (app) => app.select(null),
    "Escape": (app) => app.select(null), "Backspace": closeAround,
    "Enter": (app) => app.selected && isGroup(app.selected) && app.toggle(app.selected),
};

function listenToKeys(app) {
    document.addEventListener("keydown", (event) => {
        const typing = event.target.closest("input, select, textarea");
        if (typing || event.ctrlKey || event.metaKey || event.altKey)
            return;
        if (event.key === "Enter" && event.target.closest("a, button"))
            return;
        if (event.key === "/")
            app.finder.focus();
        else if (ARROWS[event.key] && !event.target.closest("#panel, [role=tablist], #costs, .live"))
            onArrow(app, ARROWS[event.key], event.shiftKey);
        else if (KEYS[event.key])
            KEYS[event.key](app);
        else
            return;
        event.preventDefault();
    });
}

/* ---- the frame of the page ------------------------------------------------------------------- */

function setTheme(app) {
    const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)");
    const set = (theme) => {
        root.dataset.theme = theme;
        app.memory.draw();
    };
    set(dark.matches ? "dark" : "light");
    dark.addEventListener("change", () => set(dark.matches ? "dark" : "light"));
    app.turnTheme = () => set(root.dataset.theme === "dark" ? "light" : "dark");
    byId("theme").addEventListener("click", app.turnTheme);
}

function setDock(app) {
    const dock = byId("dock"), tabs = ["memory", "costs"];
    const notes = {memory: app.memory.note, costs: app.costs.note};
    const choose = (name) => {
        dock.classList.remove("folded");
        for (const tab of tabs) {
            byId(tab).hidden = tab !== name;
            byId("tab-" + tab).setAttribute("aria-selected", String(tab === name));
        }
        byId("dock-note").textContent = notes[name];
        byId("dock-fold").textContent = "▾";
        app.memory.draw();
    };
    app.foldDock = () => {
        const folded = dock.classList.toggle("folded");
        byId("dock-fold").textContent = folded ? "▴" : "▾";
        app.memory.draw();
    };
    tabs.forEach((name) => byId("tab-" + name).addEventListener("click", () => choose(name)));
    byId("dock-fold").addEventListener("click", app.foldDock);
    choose(app.graph.run ? "memory" : "costs");
    if (!app.graph.run)
        app.foldDock();
}

function setColours(app) {
    const choices = [["kind", "by kind of op"], ["flops", "by FLOP"], ["bytes", "by bytes of results"]];
    if (app.graph.run && app.graph.run.seconds > 0)
        choices.splice(1, 0, ["time", "by time"]);
    const select = byId("colours");
    select.append(...choices.map(([value, text]) => element("option", {value}, text)));
    select.addEventListener("change", () => {
        app.colours = select.value;
        app.view.draw();
    });
}

function setHead(app) {
    const {graph} = app, t = app.tree.root.totals;
    document.title = graph.title + " · graph";
    byId("title").textContent = graph.title;
    byId("summary").textContent = [plural(graph.nodes.length, "node"), t.parameters && amountText(t.parameters) + " parameters",
        amountText(t.flops, "FLOP"), graph.run && plural(graph.run.steps.length, "step")].filter(Boolean).join(" · ");
    byId("help").addEventListener("click", () => app.select(null));
    byId("zoom-in").addEventListener("click", () => app.view.zoom(1.25));
    byId("zoom-out").addEventListener("click", () => app.view.zoom(0.8));
    byId("zoom-all").addEventListener("click", () => app.view.fit());
    byId("fold-all").addEventListener("click", app.closeAll);
}

function start() {
    const app = makeApp(readGraph(JSON.parse(byId("graph").textContent)));
    app.scene = makeScene(app.graph, app.tree);
    app.memory = makeMemory(app);
    app.costs = makeCosts(app);
    setTheme(app);
    setDock(app);
    app.view = makeView(app);
    app.panel = makePanel(app);
    app.finder = makeFinder(app);
    setColours(app);
    setHead(app);
    listenToPointer(app);
    listenToKeys(app);
    app.view.begin();
    app.view.draw();
    app.panel.show();
    app.fromHash();
    window.addEventListener("hashchange", app.fromHash);
    window.addEventListener("popstate", app.fromHash);
    new ResizeObserver(() => {
        app.view.schedule();
        app.memory.draw();
    }).observe(byId("stage"));
    document.documentElement.dataset.ready = performance.now().toFixed(0);
}

start();
