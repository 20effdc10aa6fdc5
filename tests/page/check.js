/* Runs in the page after its own script, and leaves a verdict in the page.  The page is that of a
 * plan of the base Transformer's training step, or, if it has no scope "encoder", any other: then
 * only what holds for all pages is looked at, and, if anything is computed again, that. */

/* A browser that shows nothing to anybody has no frames. */
window.requestAnimationFrame = (draw) => setTimeout(draw, 16);

const checks = [], failures = [];

function check(what, holds) {
    checks.push(what);
    if (!holds)
        failures.push(what);
}

const one = (selector) => document.querySelector(selector);
const all = (selector) => [...document.querySelectorAll(selector)];
const click = (target) => target.dispatchEvent(new MouseEvent("click", {bubbles: true}));
const press = (key, target = one("#view")) =>
    target.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
const boxNamed = (name) => all(".box").find((b) => b.querySelector("text").textContent.endsWith(name));
const frameNamed = (path) => all(".frame").find((f) => f.getAttribute("aria-label") === path);

/* Until the page has answered: what is drawn follows in a frame, a change of the address in a turn. */
const settle = () => new Promise((done) => setTimeout(done, 100));

async function open(box) {
    click(box);
    press("0");
    await settle();
}

const data = JSON.parse(one("#graph").textContent);

function checkAnyPage() {
    check("the page is ready", document.documentElement.dataset.ready !== undefined);
    check("the title is text", one("#title").textContent === data.title && one("#title").children.length === 0);
    check("the summary counts nodes", one("#summary").textContent.startsWith(data.nodes.length + " node"));
    check("nothing is loaded", performance.getEntriesByType("resource").length === 0);
    check("no markup came from names", all("img, iframe, body b.hostile").length === 0 && all("script").length === 3 && !window.hacked);
    check("boxes are drawn", all(".box, .frame").length > 0);
    check("boxes can be told apart by a screen reader", all(".box, .frame").every((b) => b.getAttribute("aria-label")));
}

function search(text) {
    one("#query").value = text;
    one("#query").dispatchEvent(new Event("input"));
}

async function checkScopes() {
    const boxes = all(".box").length;
    check("encoder is closed", boxNamed("encoder") && boxNamed("encoder").getAttribute("aria-expanded") === "false");
    await open(boxNamed("encoder"));
    check("a click opens encoder", frameNamed("encoder") && frameNamed("encoder").getAttribute("aria-expanded") === "true");
    check("its layers are boxes now", boxNamed("layer0") && boxNamed("layer5") && all(".box").length > boxes);
    check("the address names it", /^#g\d+$/.test(location.hash));
    check("the panel tells about it", one("#panel h2").textContent.startsWith("encoder"));
    await open(boxNamed("layer3"));
    await open(boxNamed("self_attn"));
    press("z");
    await settle();
    check("scopes open in scopes", frameNamed("encoder/layer3/self_attn") && boxNamed("q"));
    check("edges join what is visible", all(".edge").length > 20);
    check("edges say what they carry", all(".edge-text").some((t) => t.textContent === "32 × 32 × 512"));
    press("0");
    await settle();
    await open(frameNamed("encoder/layer3").querySelector(".bar"));
    check("a click on its head closes a scope", !frameNamed("encoder/layer3") && boxNamed("layer3"));
}

async function checkSearch() {
    const op = data.ops.findIndex(([name]) => name === "dropout");
    const expected = data.nodes.filter(([o]) => o === op).length;
    search("op:dropout");
    check("all dropouts are found", expected > 0 && one("#hit-count").textContent === String(expected));
    check("hits are listed", all("#hits [role=option]").length === Math.min(expected, 60));
    press("Enter", one("#query"));
    const selected = one(".selected");
    check("Enter goes to the first one", selected && selected.dataset.id[0] === "n" &&
        data.nodes[Number(selected.dataset.id.slice(1))][0] === op);
    check("its address is kept", selected && location.hash === "#" + selected.dataset.id);
    const panel = one("#panel").textContent;
    check("the panel names op, scope and source", /^dropout/.test(panel) && panel.includes("Scope") && /\.c:\d+/.test(panel));
    check("operands and users are links", all('#panel a[href^="#n"]').length >= 2);
    check("the panel tells when it is live", /live from step \d+/.test(panel));
    const link = one('#panel a[href^="#n"]');
    link.click();
    await settle();
    check("a link goes to its node", location.hash === link.getAttribute("href") && one(".selected").dataset.id === location.hash.slice(1));
    history.back();
    await settle();
    check("the way back is kept", location.hash === "#" + selected.dataset.id);
    search("encoder/layer2 512x2048");
    check("scopes and shapes are found", Number(one("#hit-count").textContent) > 0);
    search("no such thing");
    check("what is not there is not found", one("#hit-count").textContent === "0" && all("#hits [role=option]").length === 0);
    search("");
}

function checkMemory() {
    const chart = one("#chart canvas"), steps = data.steps.length;
    check("the chart has all steps", chart && chart.getAttribute("aria-valuemax") === String(steps));
    check("the peak is told", /^peak [\d.]+ [KMG]iB/.test(one("#dock-note").textContent));
    press("Home", chart);
    for (let i = 0; i < 5; i++)
        press("ArrowRight", chart);
    check("arrows move over the steps", chart.getAttribute("aria-valuenow") === "5");
    press("Enter", chart);
    check("Enter goes to the step's node", location.hash === "#n" + data.steps[5][0]);
    check("what is live is listed", all("#alive li").length > 0);
    click(one("#tab-costs"));
    check("costs are listed", !one("#costs").hidden && all("#costs .row").length > 5);
}

async function checkKeys() {
    press("Escape");
    check("Escape selects nothing", !one(".selected"));
    press("ArrowDown");
    await settle();
    check("arrows select a box", one(".selected"));
    const theme = document.documentElement.dataset.theme;
    press("t");
    check("t turns light and dark", document.documentElement.dataset.theme !== theme);
    press("/");
    check("/ goes to the search", document.activeElement === one("#query"));
    press("c");
    await settle();
    check("c closes all scopes", boxNamed("encoder") && !frameNamed("encoder"));
    const before = one("#world").getAttribute("transform");
    press("+");
    check("+ zooms", one("#world").getAttribute("transform") !== before);
}

/* Of a plan that computes values again to save memory. */
async function checkAgain() {
    const again = data.steps.filter((step) => step[6]).length;
    press("Escape");
    const link = all("#panel a").find((a) => a.textContent.startsWith(again + " step"));
    check("the panel counts what is computed again", link);
    link.click();
    check("its link finds them", one("#query").value === "run:again" && one("#hit-count").textContent === String(again));
    press("Enter", one("#query"));
    await settle();
    const selected = one(".selected");
    check("a box says so", selected && [...selected.querySelectorAll("text")].some((t) => t.textContent === "computed again"));
    check("the panel says why", one("#panel").textContent.includes("dropped to save memory"));
    search("");
}

try {
    checkAnyPage();
    if (data.steps && data.steps.some((step) => step[6]))
        await checkAgain();
    if (boxNamed("encoder")) {
        await checkScopes();
        await checkSearch();
        checkMemory();
        await checkKeys();
    }
} catch (error) {
    failures.push("an error: " + error.message);
}
const verdict = document.createElement("pre");
verdict.id = "verdict";
verdict.textContent = checks.length + " checks, " + failures.length + " failures\n" + failures.map((text) => "failed: " + text + "\n").join("");
document.documentElement.append(verdict);
