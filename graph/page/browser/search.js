/* Finding nodes.  Each word of the query must be in the op, a name, the scope, a shape, the kernel
 * or the source line of a node.  "op:", "name:", "scope:", "shape:", "dtype:", "phase:", "kernel:"
 * and "at:" before a word look there alone; op: and phase: want the whole word.  "run:again" finds
 * what is computed again to save memory. */

const HITS_SHOWN = 60;

const FIELDS = {
    op: (node) => node.op.name,
    name: (node) => node.outs.map((v) => [v.name || "", ...v.outputs].join(" ")).join(" "),
    scope: (node) => node.scope.path,
    shape: (node) => node.outs.map((v) => "[" + v.dims.join(",") + "]").join(" "),
    dtype: (node) => node.outs.map((v) => v.dtype).join(" "),
    phase: (node) => node.phase,
    kernel: (node) => (node.step ? node.step.backend + " " + node.step.kernel : ""),
    at: (node) => node.place || "",
    run: (node) => (isAgain(node) ? "again" : ""),
};
const WHOLE = ["op", "phase", "dtype"];

function indexNodes(graph) {
    return graph.nodes.map((node) => {
        const fields = {};
        for (const [name, get] of Object.entries(FIELDS))
            fields[name] = get(node).toLowerCase();
        return {node, fields, all: Object.values(fields).join("\n")};
    });
}

/* "512 × 64" and "512x64" are what "[512,64]" is in the index. */
const plainShape = (word) => word.replace(/(\d)\s*[x×]\s*(?=\d)/g, "$1,");

function parseQuery(text) {
    const spaced = plainShape(text.toLowerCase().trim()).replace(/,\s+(?=\d)/g, ",");
    return spaced.split(/\s+/).filter(Boolean).map((word) => {
        const at = word.indexOf(":"), field = word.slice(0, at);
        return at > 0 && FIELDS[field] && word.length > at + 1 ? {field, word: word.slice(at + 1)} : {field: null, word};
    });
}

const matches = (entry, {field, word}) =>
    field === null ? entry.all.includes(word) :
        WHOLE.includes(field) ? entry.fields[field].split(" ").includes(word) : entry.fields[field].includes(word);

/* Nodes whose op is the word come first, then by their order. */
function findNodes(index, text) {
    const terms = parseQuery(text);
    if (!terms.length)
        return [];
    const found = index.filter((entry) => terms.every((term) => matches(entry, term)));
    const exact = (entry) => terms.some(({word}) => entry.fields.op === word || entry.fields.name === word);
    return found.filter(exact).concat(found.filter((entry) => !exact(entry))).map((entry) => entry.node);
}

function makeFinder(app) {
    const input = byId("query"), listed = byId("hits"), count = byId("hit-count");
    const index = indexNodes(app.graph);
    let at = -1;

    function row(node, i) {
        const value = node.outs[0];
        return element("li", {role: "option", id: "hit-" + i, "aria-selected": "false", onclick: () => go(i)},
            element("b", {}, isLeaf(node) && value.name ? localName(value.name, node.scope) : node.op.name),
            element("span", {class: "shape"}, value ? typeText(value) : ""),
            element("span", {class: "where"}, element("bdi", {}, [node.phase === "forward" ? "" : node.phase, pathOf(node.group)].filter(Boolean).join(" · "))));
    }

    function list() {
        const nodes = app.hits.nodes;
        listed.replaceChildren(...nodes.slice(0, HITS_SHOWN).map(row));
        if (nodes.length > HITS_SHOWN)
            listed.append(element("li", {class: "more"}, "and " + (nodes.length - HITS_SHOWN) + " more: type more, or press n to go through them"));
        if (!nodes.length)
            listed.append(element("li", {class: "more"}, "Nothing found. Try an op, a name, a scope, a shape such as 512x64, or op:, scope:, kernel:, at: before a word."));
    }

    function open(yes) {
        listed.hidden = !yes;
        input.setAttribute("aria-expanded", String(yes));
    }

    function mark() {
        listed.querySelectorAll("[role=option]").forEach((li, i) => {
            li.setAttribute("aria-selected", String(i === at));
            if (i === at)
                li.scrollIntoView({block: "nearest"});
        });
        input.setAttribute("aria-activedescendant", at >= 0 && at < HITS_SHOWN ? "hit-" + at : "");
        count.textContent = input.value.trim() ? (at >= 0 ? at + 1 + " of " : "") + app.hits.nodes.length : "";
    }

    function search() {
        const nodes = findNodes(index, input.value);
        app.hits = {nodes, boxes: new Map()};
        at = -1;
        list();
        open(Boolean(input.value.trim()));
        mark();
        app.countHits();
        app.view.schedule();
    }

    function go(i) {
        const nodes = app.hits.nodes;
        if (!nodes.length)
            return;
        at = (i + nodes.length) % nodes.length;
        mark();
        app.jump(nodes[at]);
    }

    input.addEventListener("input", search);
    input.addEventListener("focus", () => input.value.trim() && open(true));
    input.addEventListener("keydown", (event) => {
        const move = {ArrowDown: 1, ArrowUp: -1}[event.key], n = app.hits.nodes.length;
        if (move && n) {
            at = (Math.max(at, move < 0 ? 0 : -1) + move + n) % n;
            open(true);
            mark();
        } else if (event.key === "Enter") {
            go(Math.max(at, 0));
            open(false);
            app.view.svg.focus({preventScroll: true});
        } else if (event.key === "Escape") {
            if (listed.hidden) {
                input.value = "";
                search();
            }
            open(false);
            app.view.svg.focus({preventScroll: true});
        } else
            return;
        event.preventDefault();
    });
    document.addEventListener("pointerdown", (event) => {
        if (!byId("finder").contains(event.target))
            open(false);
    });

    function find(text) {
        input.value = text;
        search();
        input.focus();
    }
    return {find, focus: () => input.select(), next: (step) => go(at + step)};
}
