"use strict";
(() => {
  const table = document.getElementById("alternatives");
  if (table) {
    const rows = Array.from(table.tBodies[0].rows);
    const at = (id) => document.getElementById(id);
    const apply = () => {
      const stage = at("by-stage").value, fate = at("by-fate").value;
      const words = at("by-words").value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        const fits = (!stage || row.dataset.stage === stage) && (!fate || row.dataset.fate === fate)
          && words.every((word) => text.includes(word));
        row.hidden = !fits;
        shown += fits ? 1 : 0;
      }
      at("shown").textContent = shown + " of " + rows.length;
    };
    for (const id of ["by-stage", "by-fate", "by-words"]) at(id).addEventListener("input", apply);
    at("filter").hidden = false;
    apply();
  }
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = Array.from(document.querySelectorAll("details:not([open])"));
    for (const one of closed) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of closed) one.open = false;
  });
})();
