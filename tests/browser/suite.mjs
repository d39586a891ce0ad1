// Explanations in a real browser. Everything comes from the program as a user calls it; nothing is mocked.
// A check that fails is listed with the others; the exit code is 1 if there is one.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { GOALS, HOSTILE, world } from "./world.mjs";
import { mermaidPage, pevPage } from "./pages.mjs";

const { values: options } = parseArgs({
  options: { program: { type: "string" }, modules: { type: "string" }, browser: { type: "string" }, screenshots: { type: "string" } },
});
const require = createRequire(join(options.modules, "any.js"));
const { chromium } = require("playwright-core");
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];

const failures = [];
let checks = 0;
function check(what, holds, seen = "") {
  checks += 1;
  if (!holds) failures.push(`${what}${seen === "" ? "" : `: ${typeof seen === "string" ? seen : JSON.stringify(seen)}`}`);
}

const folder = mkdtempSync(join(tmpdir(), "ctxrt-browser-"));
mkdirSync(options.screenshots, { recursive: true });
const ctxrt = world(folder, options.program);
const shot = (page, name, full = true) => page.screenshot({ path: join(options.screenshots, `${name}.png`), fullPage: full });

/// Steps of the tree and those beside it, as the JSON form has them.
function steps(explanation) {
  const below = (node) => [node, ...(node.children ?? []).flatMap(below)];
  return { tree: below(explanation.plan.root), aside: explanation.plan.on_failure ?? [] };
}

/// A page that reports everything it should not do: requests, dialogs, errors, and what a hostile string would leave behind.
async function open(browser, file, settings = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...settings });
  const page = await context.newPage();
  const seen = { requests: [], dialogs: [], errors: [] };
  const url = `file://${file}`;
  page.on("request", (request) => { if (request.url() !== url) seen.requests.push(request.url()); });
  page.on("dialog", (dialog) => { seen.dialogs.push(dialog.message()); dialog.dismiss(); });
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("console", (message) => { if (message.type() === "error") seen.errors.push(message.text()); });
  await page.goto(url);
  return { page, seen, close: () => context.close() };
}

async function harmless(name, page, seen) {
  check(`${name}: a hostile string opened a dialog`, seen.dialogs.length === 0, seen.dialogs);
  check(`${name}: errors on the console`, seen.errors.length === 0, seen.errors);
  check(`${name}: it asked for something`, seen.requests.length === 0, seen.requests);
  check(`${name}: a hostile string ran`, await page.evaluate(() => window.hacked === undefined));
  check(`${name}: a hostile string became an element`, (await page.locator("[data-hostile], img[src='x']").count()) === 0);
}

async function htmlPage(browser, name, goal) {
  const explanation = ctxrt.json(goal, ["--analyze", "--verbose"]);
  const file = join(folder, `${name}.html`);
  writeFileSync(file, ctxrt.text(goal, ["--analyze", "--settings", "--memory", "--format", "html"]));
  const { page, seen, close } = await open(browser, file);
  const { tree, aside } = steps(explanation);
  check(`${name}: the goal stands as it was typed`, (await page.locator("h1").textContent()).includes(goal.slice(0, 20)));
  check(`${name}: steps of the tree`, (await page.locator("table.tree tr[data-node]").count()) === tree.length + aside.length);
  const titles = await page.locator("table.tree tr[data-node] .title, table.tree tr[data-node] summary").allTextContents();
  for (const node of tree) check(`${name}: a title is missing`, titles.includes(node.title), node.title);
  check(`${name}: lanes of the timeline`, (await page.locator(".lane").count()) === tree.length + aside.length);
  const bars = await page.locator(".lane b").evaluateAll((all) => all.map((bar) => [parseFloat(bar.style.left), parseFloat(bar.style.width)]));
  check(`${name}: a bar leaves the axis`, bars.length > 0 && bars.every(([left, width]) => left >= 0 && width >= 0 && left + width <= 100.1), bars);
  check(`${name}: points of the Pareto set`, (await page.locator("svg").first().locator("circle").count()) === explanation.plan.frontier.length);
  check(`${name}: the chosen plan is marked`, (await page.locator("svg").first().locator(".chosen").count()) === 1);
  await filter(name, page, explanation);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  check(`${name}: the page scrolls sideways`, wide <= 0, `${wide} px`);
  await shot(page, name);
  await page.emulateMedia({ colorScheme: "dark" });
  await shot(page, `${name}-dark`);
  await page.emulateMedia({ media: "print", colorScheme: "light" });
  const pdf = await page.pdf({ format: "A4", landscape: true });
  writeFileSync(join(options.screenshots, `${name}.pdf`), pdf);
  check(`${name}: printing gives pages`, pdf.length > 10_000, `${pdf.length} bytes`);
  await harmless(name, page, seen);
  await close();
  const plain = await open(browser, file, { javaScriptEnabled: false });
  check(`${name}: without script every alternative is listed`,
    (await plain.page.locator("#alternatives tbody tr").count()) === explanation.alternatives.length);
  check(`${name}: without script the controls are hidden`, !(await plain.page.locator("#filter").isVisible()));
  await plain.close();
}

async function filter(name, page, explanation) {
  const rows = page.locator("#alternatives tbody tr");
  const visible = () => rows.evaluateAll((all) => all.filter((row) => !row.hidden).map((row) => [row.dataset.stage, row.dataset.fate, row.textContent]));
  check(`${name}: every alternative is listed`, (await rows.count()) === explanation.alternatives.length);
  const fates = await page.locator("#by-fate option").evaluateAll((all) => all.map((option) => option.value).filter(Boolean));
  check(`${name}: fates to choose from`, fates.length > 1, fates);
  let sum = 0;
  for (const fate of fates) {
    await page.selectOption("#by-fate", fate);
    const left = await visible();
    check(`${name}: the filter by reason shows another one`, left.length > 0 && left.every(([, is]) => is === fate), fate);
    check(`${name}: the count beside the filter`, (await page.locator("#shown").textContent()).startsWith(`${left.length} of `));
    sum += left.length;
  }
  check(`${name}: reasons split the list`, sum === explanation.alternatives.length, `${sum}`);
  await page.selectOption("#by-fate", "");
  await page.fill("#by-words", "BM25");
  const words = await visible();
  check(`${name}: the filter by words`, words.length > 0 && words.every(([, , text]) => text.toLowerCase().includes("bm25")));
  await page.fill("#by-words", "");
}

async function infeasible(browser) {
  const file = join(folder, "infeasible.html");
  writeFileSync(file, ctxrt.text(GOALS.calm, ["--min-accuracy", "0.999999", "--format", "html"], 3));
  const { page, seen, close } = await open(browser, file);
  check("infeasible: it says which limit", (await page.locator("#infeasible").textContent()).includes("min_accuracy"));
  await shot(page, "infeasible");
  await harmless("infeasible", page, seen);
  await close();
}

async function pev(browser, name, goal) {
  const explanation = ctxrt.json(goal, ["--analyze", "--verbose"]);
  const source = ctxrt.text(goal, ["--analyze", "--verbose", "--settings", "--format", "pg"]);
  const file = join(folder, `${name}-pev2.html`);
  writeFileSync(file, pevPage(options.modules, source));
  const { page, seen, close } = await open(browser, file);
  await page.locator(".plan-node").first().waitFor({ timeout: 20_000 });
  check(`${name} in pev2: it could not read the plan`, !(await page.locator("body").innerText()).includes("Couldn't parse plan"));
  const { tree } = steps(explanation);
  const nodes = await page.locator(".plan-node").count();
  check(`${name} in pev2: nodes`, nodes === tree.length, `${nodes} of ${tree.length}`);
  // What is shown, not what the page's scripts are made of.
  const text = await page.locator("body").innerText();
  for (const node of tree) check(`${name} in pev2: a step is missing`, text.includes(node.title.split(" on ")[0].replaceAll("<", "‹")), node.title);
  check(`${name} in pev2: not a number`, !/NaN|-\d+(\.\d+)?ms|Infinity/.test(text));
  await shot(page, `${name}-pev2`, false);
  // Every node's details and every tab: wherever a string could be taken for markup.
  for (const toggle of await page.locator(".node-detail-toggle").all()) await toggle.click({ timeout: 1_000, force: true });
  await page.waitForTimeout(200);
  check(`${name} in pev2: details open`, (await page.locator(".plan-node.detailed").count()) > 0);
  await shot(page, `${name}-pev2-details`, false);
  for (const tab of ["Grid", "Raw", "Query", "Stats", "Plan"]) {
    await page.locator(".nav-link", { hasText: tab }).first().click({ timeout: 2_000, force: true });
    await page.waitForTimeout(60);
  }
  await harmless(`${name} in pev2`, page, seen);
  await close();
}

async function mermaid(browser, name, goal) {
  const explanation = ctxrt.json(goal, ["--analyze", "--verbose"]);
  const file = join(folder, `${name}-mermaid.html`);
  writeFileSync(file, mermaidPage(options.modules, ctxrt.text(goal, ["--analyze", "--format", "mermaid"])));
  const { page, seen, close } = await open(browser, file);
  await page.locator("svg g.node").first().waitFor({ timeout: 20_000 });
  const { tree, aside } = steps(explanation);
  check(`${name} in mermaid: nodes`, (await page.locator("svg g.node").count()) === tree.length + aside.length + 1);
  check(`${name} in mermaid: the goal's signs`, (await page.locator("svg").textContent()).includes(goal.slice(0, 12)));
  await shot(page, `${name}-mermaid`);
  await harmless(`${name} in mermaid`, page, seen);
  await close();
}

async function graphviz(name, goal) {
  const { instance } = require("@viz-js/viz");
  const explanation = ctxrt.json(goal, ["--analyze", "--verbose"]);
  const svg = (await instance()).renderString(ctxrt.text(goal, ["--analyze", "--format", "dot"]), { format: "svg" });
  const { tree, aside } = steps(explanation);
  check(`${name} in graphviz: nodes`, (svg.match(/class="node"/g) ?? []).length === tree.length + aside.length + 1);
  check(`${name} in graphviz: markup of a goal`, !svg.includes("<img") && !svg.includes("<script"));
  writeFileSync(join(options.screenshots, `${name}-graphviz.svg`), svg);
}

const browser = await chromium.launch({ executablePath: options.browser, args: FLAGS });
try {
  for (const [name, goal] of Object.entries(GOALS)) {
    await htmlPage(browser, name, goal);
    await pev(browser, name, goal);
    await mermaid(browser, name, goal);
    await graphviz(name, goal);
  }
  await infeasible(browser);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
for (const failure of failures) console.error(`FAILED ${failure}`);
console.log(`${checks} checks in ${browser ? "Chromium" : "no browser"}, ${failures.length} failed; screenshots in ${options.screenshots}; ${HOSTILE.length} hostile strings`);
process.exit(failures.length === 0 ? 0 : 1);
