/* The panel at the side: all about a node, a scope or an edge, and about the graph if none is
 * selected. */

const LINKS = 40; /* longer lists are cut */

function makePanel(app) {
    const panel = byId("panel"), graph = app.graph, run = graph.run;

    const link = (item, text) => element("a", {href: "#" + itemId(item)}, text);
    const heading = (text) => element("h3", {}, text);
    const soft = (text) => element("span", {class: "soft"}, text);
    const rows = (...pairs) =>
        element("table", {}, pairs.filter((p) => p && p[1] !== null && p[1] !== undefined && p[1] !== "")
            .map(([name, value]) => element("tr", {}, element("td", {}, name), element("td", {}, value))));

    function list(items, make) {
        const shown = items.slice(0, LINKS).map((item) => element("li", {}, make(item)));
        if (items.length > LINKS)
            shown.push(element("li", {class: "soft"}, "and " + (items.length - LINKS) + " more"));
        return element("ul", {}, shown);
    }

    function nodeLink(node) {
        const name = node.outs.length && node.outs[0].name;
        const place = pathOf(node.group);
        return [link(node, isLeaf(node) && name ? name : node.op.name), soft(isLeaf(node) ? " " + node.op.role : place ? " in " + place : "")];
    }

    const tool = (text, title, act) => element("button", {type: "button", title, onclick: act}, text);

    /* ---- a node ---- */

    function lifeText(value) {
        const block = value.block;
        if (!run || !block)
            return null;
        const end = run.steps.length;
        if (block.bytes === 0)
            return "kept between runs";
        return "live from step " + block.first + (block.last >= end ? " to the end" : " to " + block.last);
    }

    const cutRows = (rows) => (rows.length > LINKS ? rows.slice(0, LINKS).concat([["…", rows.length - LINKS + " more"]]) : rows);

    function resultRows(node) {
        return node.outs.map((value, i) => {
            const life = lifeText(value);
            return [resultName(node, i), [
                value.name ? element("div", {}, element("b", {}, value.name)) : null,
                element("div", {}, typeText(value) + ", " + bytesText(value.bytes)),
                life ? element("div", {class: "soft"}, life) : null,
                ...value.outputs.map((name) => element("div", {}, "output ", element("b", {}, name))),
                value.assigned ? element("div", {}, "assigned to ", link(value.assigned.node, value.assigned.name)) : null,
                value.takes ? element("div", {}, "takes the value of ", link(value.takes.node, value.takes.node.op.name)) : null,
            ]];
        });
    }

    function operandRows(node) {
        return node.ins.map((value, i) => [operandName(node, i), [
            nodeLink(value.node), element("div", {class: "soft"}, typeText(value)),
        ]]);
    }

    function usersOf(node) {
        const users = node.outs.flatMap((value) => value.users);
        return users.length ? list(users, ({node: user, operand}) => [...nodeLink(user), soft(" as " + operandName(user, operand))]) :
            soft(node.outs.some((v) => v.outputs.length || v.assigned) ? "none; it is a result of the run" : "none");
    }

    function stepRows(node) {
        const step = node.step;
        if (!step)
            return run ? [["Run", isLeaf(node) ? "filled before the run" : "computed when the plan was made, or a view"]] : [];
        const speed = step.seconds > 0 && node.flops > 0 ? ", " + amountText(node.flops / step.seconds, "FLOP/s") : "";
        return [
            ["Step", step.index + " of " + run.steps.length],
            step.again && ["Again", "computes a value that was dropped to save memory"],
            ["Kernel", step.backend + " " + step.kernel],
            ["Refused", step.refused],
            step.seconds > 0 && ["Time", timeText(step.seconds) + ", " + shareText(step.seconds / run.seconds) + speed],
            ["Memory", step.inplace ? "result 0 is written over an operand" : null],
            step.scratch && ["Scratch", bytesText(step.scratch.bytes)],
        ];
    }

    function trail(group) {
        const parts = [];
        for (let g = group; g.kind !== "root"; g = g.parent)
            parts.unshift(link(g, g.name));
        return parts.flatMap((part, i) => (i ? [soft(" / "), part] : [part]));
    }

    function showNode(node) {
        const kind = graph.kinds.get(node.op.kind);
        panel.replaceChildren(
            element("h2", {}, node.op.name, element("span", {class: "kind", style: "border-color: " + kind.line}, kind.name)),
            node.op.formula ? element("p", {class: "formula soft"}, node.op.formula) : "",
            rows(["Scope", trail(node.group)], ["Phase", node.phase],
                ["Source", node.place && element("code", {}, node.place)], ["Node", String(node.id)]),
            heading(node.outs.length > 1 ? "Results" : "Result"), rows(...cutRows(resultRows(node))),
            ...(node.attrs.length ? [heading("Attributes"), rows(...node.attrs.map(splitAttr))] : []),
            ...(node.ins.length ? [heading("Operands"), rows(...cutRows(operandRows(node)))] : []),
            heading("Used by"), usersOf(node),
            heading(run ? "Run" : "Cost"),
            rows(...stepRows(node), ["FLOP", node.flops ? amountText(node.flops) : "none"],
                ["Moved", node.bytes ? bytesText(node.bytes) : "nothing"]));
    }

    function splitAttr(attr) {
        const at = attr.indexOf("=");
        return [attr.slice(0, at), attr.slice(at + 1)];
    }

    /* ---- a group ---- */

    function opRows(nodes) {
        const counts = new Map();
        nodes.forEach((node) => counts.set(node.op.name, (counts.get(node.op.name) || 0) + 1));
        const sorted = [...counts].sort((a, b) => b[1] - a[1]), most = sorted.length ? sorted[0][1] : 1;
        return list(sorted, ([name, count]) => element("div", {class: "bar-row"},
            element("a", {href: "#", onclick: (e) => (e.preventDefault(), app.find("op:" + name))}, name),
            element("span", {class: "meter"}, element("i", {style: "width: " + (100 * count) / most + "%"})), String(count)));
    }

    function showGroup(group) {
        const t = group.totals, again = () => app.changed(group);
        panel.replaceChildren(
            element("h2", {}, group.name, element("span", {class: "kind"}, group.kind)),
            rows(["Scope", trail(group)], ["Phase", group.phase], ["Nodes", String(group.all.length)], ["Operations", String(t.ops)],
                ["Parameters", t.parameters ? t.parameters.toLocaleString("en") : null],
                ["FLOP", amountText(t.flops)], ["Results", bytesText(t.bytes)],
                run && run.seconds > 0 && ["Time", timeText(t.seconds) + ", " + shareText(t.seconds / run.seconds)]),
            element("div", {class: "tools"},
                tool(group.open ? "Close" : "Open", "Enter", () => app.toggle(group)),
                tool("Open all within", "Opens every scope in it", () => (openWithin(group), again())),
                tool("Zoom to it", "z", () => app.zoomTo(group))),
            ...(group.groups.length ? [heading("Contains"), list(group.groups, (inner) =>
                [link(inner, inner.name), soft(" " + plural(inner.all.length, "node"))])] : []),
            heading("Ops"), opRows(group.all));
    }

    /* ---- an edge ---- */

    function showEdge(edge) {
        const values = [...edge.values];
        panel.replaceChildren(
            element("h2", {}, plural(values.length, "value"), element("span", {class: "kind"}, "edge")),
            rows(["From", nameLink(edge.from.item)], ["To", nameLink(edge.to.item)], ["Bytes", bytesText(edge.bytes)]),
            heading("Values"),
            list(values, (value) => [nodeLink(value.node), element("div", {class: "soft"}, typeText(value) + ", " + bytesText(value.bytes))]));
    }

    const nameLink = (item) => (isGroup(item) ? link(item, item.name) : nodeLink(item));

    /* ---- the graph ---- */

    function leafRow(role) {
        const nodes = graph.nodes.filter((node) => node.op.role === role);
        const sum = (f) => nodes.reduce((total, node) => total + f(node.outs[0]), 0);
        return nodes.length && [plural(nodes.length, role), amountText(sum((v) => v.count)) + " numbers, " + bytesText(sum((v) => v.bytes))];
    }

    function planRows() {
        if (!run)
            return [heading("Plan"), element("p", {class: "soft"},
                "This is the graph before planning. Kernels, memory and times are in the page of its plan: ",
                element("code", {}, "wengert graph --plan --html FILE"), " or ",
                element("code", {}, "--profile"), ".")];
        return [heading("Plan"), rows(["Steps", String(run.steps.length)], ["Buffer", bytesText(run.buffer)],
            ["Time", run.seconds > 0 ? timeText(run.seconds) + " per run" : null],
            ["Computed again", againLink()])];
    }

    function againLink() {
        const nodes = graph.nodes.filter(isAgain);
        const bytes = nodes.reduce((sum, node) => sum + node.outs.reduce((all, value) => all + value.bytes, 0), 0);
        return nodes.length ? element("a", {href: "#", onclick: (e) => (e.preventDefault(), app.find("run:again"))},
            plural(nodes.length, "step") + ", " + bytesText(bytes)) : null;
    }

    function outputRows() {
        const outputs = graph.values.flatMap((value) => value.outputs.map((name) => ({name, value})));
        return outputs.length ? [heading("Outputs"), list(outputs, ({name, value}) =>
            [link(value.node, name || value.node.op.name), soft(" " + typeText(value))])] : [];
    }

    const legend = () => element("ul", {class: "legend"}, [...graph.kinds.values()].map((kind) =>
        element("li", {}, element("span", {class: "swatch", style: "background: " + kind.fill + "; border-color: " + kind.line}), kind.name)));

    const keys = () => element("table", {class: "keys"}, [
        ["click", "open or close a scope, select a node or an edge"], ["drag, wheel", "move, zoom"],
        ["arrows", "go to the next box in that direction"], ["Enter", "open or close the selected scope"],
        ["Backspace", "close the scope around the selection"], ["Shift + arrows", "move"], ["+ − 0", "zoom in, out, show all"],
        ["z", "zoom to the selection"], ["/", "find"], ["n N", "next or previous one found"], ["c", "close all scopes"],
        ["m", "hide or show what is below"], ["t", "light or dark"], ["Esc", "select nothing"],
    ].map(([key, what]) => element("tr", {}, element("td", {}, element("kbd", {}, key)), element("td", {class: "soft"}, what))));

    function showGraph() {
        const t = app.tree.root.totals;
        panel.replaceChildren(
            element("h2", {}, graph.title),
            rows(["Nodes", String(graph.nodes.length)], ["Values", String(graph.values.length)], ["FLOP", amountText(t.flops)],
                ...["input", "parameter", "state"].map(leafRow)),
            ...planRows(), ...outputRows(),
            heading("Colours"), legend(), heading("Keys"), keys());
    }

    function show() {
        const item = app.selected;
        if (app.edge)
            showEdge(app.edge);
        else if (!item)
            showGraph();
        else if (isGroup(item))
            showGroup(item);
        else
            showNode(item);
        panel.scrollTop = 0;
        byId("trail").replaceChildren(...(item ? trail(isGroup(item) ? item : item.group) : []));
    }

    return {show};
}
