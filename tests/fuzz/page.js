// What the page's own script makes of the facts of many pages; read by test_page.py.
// Each page comes as the text of its data block, on a line of its own.
"use strict";
const fs = require("node:fs");
const [folder] = process.argv.slice(2);
const script = ["base", "cases"].map((name) => fs.readFileSync(`${folder}/${name}.js`, "utf8")).join("");
const asked = `
  const rows = [...new Uint32Array(cases.rows).keys()];
  const shown = rows.map((row) => texts.map(([, of]) => of(row)));
  return {
    shown,
    csv: shown.map((cells) => cells.map(csvCell)),
    order: [...sorted(Uint32Array.from(rows), keyOf(0), false)],
    found: rows.map((row) => matches(shown[row][0].replace(/[\\r\\n]/g, "").toLowerCase())(row)),
  };`;
const page = new Function("document", script + asked);
const pages = JSON.parse(fs.readFileSync(0, "utf8"));
const answers = pages.map((text) => page({ getElementById: () => ({ textContent: text }) }));
process.stdout.write(JSON.stringify(answers));
