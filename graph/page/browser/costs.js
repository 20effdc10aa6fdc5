/* What a run costs, by op, scope or kernel: measured time, or FLOP and bytes as they are counted. */

function makeCosts(app) {
    const {graph} = app, run = graph.run, section = byId("costs");
    const nodes = run ? run.steps.map((step) => step.node) : graph.nodes;
    const measures = {
        time: {title: "time", of: (node) => (node.step ? node.step.seconds : 0), text: timeText},
        flops: {title: "FLOP", of: (node) => node.flops, text: (x) => amountText(x)},
        bytes: {title: "bytes moved", of: (node) => node.bytes, text: bytesText},
    };
    const parts = {
        op: {title: "op", of: (node) => node.op.name, find: (name) => "op:" + name},
        scope: {title: "scope", of: (node) => node.scope.names.slice(0, 2).join("/") || "(no scope)",
            find: (name) => (name === "(no scope)" ? "" : "scope:" + name)},
        kernel: {title: "kernel", of: (node) => node.step.backend + " " + node.step.kernel,
            find: (name) => name.split(" ").map((word) => "kernel:" + word).join(" ")},
    };
    if (!run || !(run.seconds > 0))
        delete measures.time;
    if (!run)
        delete parts.kernel;
    let measure = Object.keys(measures)[0], by = "op";
    const rows = element("div", {class: "rows"});

    function choice(title, options, chosen, choose) {
        return element("label", {}, title + " ", element("select", {onchange: (event) => choose(event.target.value)},
            Object.entries(options).map(([key, {title: name}]) => element("option", {value: key, selected: key === chosen ? "" : null}, name))));
    }

    function list() {
        const sums = new Map(), {of, text} = measures[measure];
        let all = 0;
        for (const node of nodes) {
            const key = parts[by].of(node), entry = sums.get(key) || {sum: 0, count: 0};
            entry.sum += of(node);
            entry.count++;
            all += of(node);
            sums.set(key, entry);
        }
        const sorted = [...sums].sort((a, b) => b[1].sum - a[1].sum), most = sorted.length ? sorted[0][1].sum : 0;
        rows.replaceChildren(...sorted.map(([name, {sum, count}]) =>
            element("button", {class: "row", type: "button", title: "Find these nodes", onclick: () => app.find(parts[by].find(name))},
                element("span", {}, name + "  × " + count),
                element("span", {class: "meter"}, element("i", {style: "width: " + (most ? (100 * sum) / most : 0) + "%"})),
                element("span", {class: "number"}, sum ? text(sum) : "–"),
                element("span", {class: "number soft"}, all && sum ? shareText(sum / all) : ""))));
    }

    section.append(
        element("div", {class: "choices"},
            choice("What:", measures, measure, (value) => ((measure = value), list())),
            choice("by", parts, by, (value) => ((by = value), list())),
            measures.time ? "" : element("span", {}, "Times are in the page that --profile makes.")),
        rows);
    list();
    return {note: measures.time ? timeText(run.seconds) + " per run, in " + run.steps.length + " steps" :
        plural(nodes.length, run ? "step" : "node") + ", " + amountText(nodes.reduce((sum, node) => sum + node.flops, 0), "FLOP")};
}
