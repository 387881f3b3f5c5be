// The table of cases: all of them, a page at a time. Columns are arrays of numbers, so that
// hundreds of thousands of rows are searched and sorted between two frames.
const PAGE = 15, PRINTED = 100, WRITTEN_AT_ONCE = 8000;
const cases = facts.cases;
const listing = { sort: null, descending: false, query: "", page: 0, size: PAGE };
const ids = Array.isArray(cases.ids) ? cases.ids : unpacked(cases.ids);
const idOrder = cases.order ? unpacked(cases.order) : null;
const position = unpacked(cases.steps.column), masks = cases.steps.masks;
const probabilities = cases.proba.map(unpacked);
// Columns of names: what each is called, the number of each row's, the names.
const named = [[cases.group_name, cases.groups && unpacked(cases.groups), facts.groups && facts.groups.names],
  ...[["referred for", cases.reasons], ["prediction", cases.predictions]].map(([title, packed]) => [title, packed && unpacked(packed.column), packed && packed.names]),
].filter(([, numbers]) => numbers);
const texts = [[cases.id_name, (row) => String(ids[row])], ...named.map(([title, numbers, names]) => [title, (row) => names[numbers[row]]])];
const shareText = (value) => (value > cases.units ? "–" : (value / cases.units).toFixed(PLACES));
const titles = [...texts.map(([name]) => name), ...cases.columns];
const PLACES = String(cases.units).length - 1;

// The number of a name among the sorted ones.
function ranked(names) {
  const collator = new Intl.Collator("en", { numeric: true }), rank = new Uint32Array(names.length);
  names.map((_, k) => k).sort((a, b) => collator.compare(names[a], names[b])).forEach((k, place) => { rank[k] = place; });
  return rank;
}
// A whole number for each row that orders it; every column has one.
const keys = [];
function keyOf(column) {
  if (keys[column]) return keys[column];
  const key = new Uint32Array(cases.rows);
  if (column === 0) {
    if (idOrder) idOrder.forEach((row, place) => { key[row] = place; });
    else for (let row = 0; row < key.length; row++) key[row] = row;
  } else if (column >= texts.length) key.set(probabilities[column - texts.length]);
  else {
    const [, numbers, names] = named[column - 1];
    const rank = ranked(names);
    for (let row = 0; row < key.length; row++) key[row] = rank[numbers[row]];
  }
  return (keys[column] = key);
}
// Counting sort: takes no longer than reading the rows, and leaves equal ones in their order.
function sorted(rows, key, descending) {
  let most = 0;
  for (const row of rows) if (key[row] > most) most = key[row];
  const place = (row) => (descending ? most - key[row] : key[row]);
  const starts = new Uint32Array(most + 2), out = new Uint32Array(rows.length);
  for (const row of rows) starts[place(row) + 1] += 1;
  for (let k = 1; k < starts.length; k++) starts[k] += starts[k - 1];
  for (const row of rows) out[starts[place(row)]++] = row;
  return out;
}
const lower = [];
function matches(query) {
  const fitting = named.map(([, numbers, names]) => [numbers, names.map((name) => name.toLowerCase().includes(query))]);
  return (row) => {
    if (fitting.some(([numbers, fits]) => fits[numbers[row]])) return true;
    // A field of one line drops line breaks, so that they cannot be searched for.
    if (lower[row] === undefined) lower[row] = String(ids[row]).replace(/[\r\n]/g, "").toLowerCase();
    return lower[row].includes(query);
  };
}
function listed() {
  const refers = masks.map((mask) => Math.floor(mask / 2 ** state.step) % 2 === 1);
  const found = new Uint32Array(cases.rows), fits = listing.query ? matches(listing.query.toLowerCase()) : () => true;
  let n = 0;
  for (let row = 0; row < cases.rows; row++) if (refers[position[row]] && fits(row)) found[n++] = row;
  const rows = found.subarray(0, n);
  return listing.sort === null ? rows : sorted(rows, keyOf(listing.sort), listing.descending);
}
let found = new Uint32Array(0);
function findCases() { found = listed(); listing.page = 0; drawCases(); }
function drawCases() {
  const pages = Math.max(1, Math.ceil(found.length / listing.size));
  listing.page = Math.max(0, Math.min(pages - 1, listing.page));
  const first = listing.page * listing.size, rows = [...found.subarray(first, first + listing.size)];
  byId("cases").tBodies[0].replaceChildren(...rows.map((row) => {
    const tr = html("tr");
    tr.append(...texts.map(([, of]) => html("td", of(row), { class: "text" })),
      ...probabilities.map((column) => html("td", shareText(column[row]))));
    return tr;
  }));
  markSorted(byId("cases"), listing.sort, listing.descending);
  setText("shown", found.length ? `Rows ${whole(first + 1)} to ${whole(first + rows.length)} of ${whole(found.length)}` : "No rows");
  byId("pages").hidden = pages === 1;
  byId("page-number").max = String(pages);
  byId("page-number").value = String(listing.page + 1);
  setText("page-count", `of ${whole(pages)}`);
  for (const [id, off] of [["page-first", !listing.page], ["page-previous", !listing.page], ["page-next", listing.page === pages - 1], ["page-last", listing.page === pages - 1]]) {
    // A button that is disabled while it has the focus would lose it.
    byId(id).setAttribute("aria-disabled", String(off));
  }
  byId("download").disabled = !found.length;
}
function buildCases() {
  sortButtons(byId("cases"), titles.map((name, column) => [name, column < texts.length ? "text" : ""]), (column) => {
    listing.descending = listing.sort === column ? !listing.descending : false;
    listing.sort = column;
    findCases();
  });
  const turn = (id, to) => byId(id).addEventListener("click", () => { listing.page = to(); drawCases(); markScrolling(); });
  turn("page-first", () => 0);
  turn("page-previous", () => listing.page - 1);
  turn("page-next", () => listing.page + 1);
  turn("page-last", () => Infinity);
  byId("page-number").addEventListener("change", (event) => { listing.page = (parseInt(event.target.value, 10) || 1) - 1; drawCases(); });
  byId("search").addEventListener("input", (event) => { listing.query = event.target.value; findCases(); });
  byId("download").addEventListener("click", download);
  const left = cases.left_out;
  setText("left-out", left ? `${whole(left)} more cases that some budget would refer are not in this page, ` +
    `${whole(cases.left_out_decided)} of them referred as decided: it lists ${whole(cases.rows)}. The decisions themselves (decisions.to_frame(), or the file written with --out) have all of them.` : "");
  // Paper has no buttons, but not all rows fit on it either.
  window.addEventListener("beforeprint", () => { listing.size = PRINTED; listing.page = Math.floor((listing.page * PAGE) / PRINTED); drawCases(); });
  window.addEventListener("afterprint", () => { listing.page = Math.floor((listing.page * PRINTED) / PAGE); listing.size = PAGE; drawCases(); });
}
// A cell that a spreadsheet would take for a formula is made text by an apostrophe; numbers stay
// numbers. What has one in front already gets another, so that taking one away gives back the text.
// Half a character, which no file can hold, is spelled out.
function csvCell(text) {
  const number = /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(text);
  if (!number && /^'*[=+\-@\t\r]/.test(text)) text = "'" + text;
  text = text.replace(/[\ud800-\udfff]/gu, (half) => "\\u" + half.charCodeAt(0).toString(16));
  return /[",\r\n\t]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text;
}
async function download() {
  const rows = found, parts = [titles.map(csvCell).join(",") + "\r\n"];
  byId("download").disabled = true;
  for (let from = 0; from < rows.length; from += WRITTEN_AT_ONCE) {
    let text = "";
    for (const row of rows.subarray(from, from + WRITTEN_AT_ONCE)) {
      const cells = texts.map(([, of]) => csvCell(of(row)));
      text += [...cells, ...probabilities.map((column) => shareText(column[row]))].join(",") + "\r\n";
    }
    parts.push(text);
    // The page stays alive between the parts.
    await new Promise((resume) => { setTimeout(resume); });
  }
  byId("download").disabled = !found.length;
  const link = html("a", null, { download: "referred.csv", href: URL.createObjectURL(new Blob(parts, { type: "text/csv" })) });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
