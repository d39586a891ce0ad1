// Pages around other people's viewers, put together from their bundles so that nothing is fetched.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const inline = (text) => text.replaceAll("</script", "<\\/script");
const data = (value) => JSON.stringify(value).replaceAll("<", "\\u003c");

/// pev2 as its README embeds it, with a plan.
export function pevPage(modules, source) {
  const file = (...path) => readFileSync(join(modules, ...path), "utf8");
  return `<!doctype html><html><head><meta charset="utf-8"><title>pev2</title><link rel="icon" href="data:,">
<style>${file("bootstrap", "dist", "css", "bootstrap.min.css")}</style><style>${file("pev2", "dist", "pev2.css")}</style></head>
<body><div id="app" class="d-flex flex-column vh-100"><pev2 :plan-source="plan" plan-query=""></pev2></div>
<script>${inline(file("vue", "dist", "vue.global.prod.js"))}</script><script>${inline(file("pev2", "dist", "pev2.umd.js"))}</script>
<script>const app = Vue.createApp({ data: () => ({ plan: ${data(source)} }) }); app.component("pev2", pev2.Plan); app.mount("#app");</script>
</body></html>`;
}

/// Mermaid with a drawing, as a page that trusts it would show it.
export function mermaidPage(modules, source) {
  const bundle = readFileSync(join(modules, "mermaid", "dist", "mermaid.min.js"), "utf8");
  return `<!doctype html><html><head><meta charset="utf-8"><title>mermaid</title><link rel="icon" href="data:,"></head><body><div id="drawing"></div>
<script>${inline(bundle)}</script>
<script>mermaid.initialize({ startOnLoad: false });
mermaid.render("out", ${data(source)}).then(({ svg }) => { document.getElementById("drawing").innerHTML = svg; }, (error) => console.error(String(error)));</script>
</body></html>`;
}
