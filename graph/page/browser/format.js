/* Numbers as text, and elements of the page.  Text from the graph only ever becomes text nodes and
 * attributes, never markup. */

const SVG = document.getElementById("view").namespaceURI;

/* Not as 1.00e+3, which toPrecision makes of 1000. */
const digitsText = (x, digits) => x < 999.5 ? x.toPrecision(digits) : x.toFixed(0);

function withPrefix(x, base, units, unit) {
    let i = 0;
    while (x >= 0.9995 * base && i < units.length - 1) {
        x /= base;
        i++;
    }
    const digits = i === 0 && Number.isInteger(x) ? String(x) : digitsText(x, x >= 10 ? 3 : 2);
    return digits + " " + units[i] + unit;
}

const bytesText = (x) => withPrefix(x, 1024, ["", "Ki", "Mi", "Gi", "Ti"], "B");
const amountText = (x, unit = "") => withPrefix(x, 1000, ["", "k", "M", "G", "T", "P"], unit).trim();

function timeText(seconds) {
    const [factor, unit] = seconds >= 0.9995 ? [1, "s"] : seconds >= 0.9995e-3 ? [1e3, "ms"] : [1e6, "µs"];
    return digitsText(factor * seconds, 3) + " " + unit;
}

function shareText(share) {
    return share > 0 && share < 1e-3 ? "< 0.1 %" : (100 * share).toFixed(1) + " %";
}

const plural = (n, one, many = one + "s") => n + " " + (n === 1 ? one : many);

function typeText(value, dtype = value.dtype) {
    return dtype + (value.dims.length ? "[" + value.dims.join(",") + "]" : " scalar");
}

/* element("a", {href: "#n1", class: "x", onclick: f}, "text", child, ...) */
function fill(made, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {}))
        if (name.startsWith("on"))
            made.addEventListener(name.slice(2), value);
        else if (value !== null && value !== undefined && value !== false)
            made.setAttribute(name, value);
    for (const child of children.flat(Infinity))
        if (child !== null && child !== undefined)
            made.append(child);
    return made;
}

const element = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const drawn = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const byId = (id) => document.getElementById(id);
