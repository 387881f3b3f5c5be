// Tables that follow the slider, cut to what is read at a glance.
function headed(...names) {
  const thead = html("thead"), row = html("tr");
  names.forEach((name) => row.append(html("th", name, { scope: "col" })));
  thead.append(row);
  return thead;
}
function rowOf(name, cells, attributes = {}) {
  const row = html("tr", null, attributes);
  row.append(html("th", name, { scope: "row" }), ...cells.map((cell) => html("td", cell)));
  return row;
}

// A table that is wider than its place says so, and takes the keyboard's focus to be scrolled.
function markScrolling() {
  document.querySelectorAll(".scroll").forEach((box) => {
    const wide = box.scrollWidth > box.clientWidth + 1;
    const caption = box.querySelector("caption");
    if (wide) {
      box.setAttribute("tabindex", "0");
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", `${caption ? caption.textContent : "Table"}: scrolls sideways`);
    } else ["tabindex", "role", "aria-label"].forEach((name) => box.removeAttribute(name));
    let hint = box.previousElementSibling;
    if (!hint || !hint.classList.contains("hint")) {
      hint = html("p", "The table goes on to the right: scroll it, or select it and use the arrow keys.", { class: "hint muted", "aria-hidden": "true" });
      box.before(hint);
    }
    hint.hidden = !wide;
  });
}

// Show so many rows of a table, and a button for the rest; a few more are not worth one.
const opened = new Set();
function cut(table, what) {
  const rows = [...table.tBodies[0].rows], all = opened.has(table.id);
  rows.forEach((row, k) => { row.hidden = !all && rows.length > UNCUT && k >= FEW; });
  let tools = byId(`${table.id}-more`);
  if (!tools) {
    tools = html("p", null, { class: "more", id: `${table.id}-more` });
    const button = html("button", null, { type: "button", "aria-controls": table.id });
    button.addEventListener("click", () => {
      if (opened.has(table.id)) opened.delete(table.id); else opened.add(table.id);
      cut(table, what);
      markScrolling();
    });
    tools.append(button, html("span", null, { class: "muted" }));
    (table.closest(".scroll") || table).after(tools);
  }
  const total = rows.length;
  tools.hidden = total <= UNCUT;
  tools.firstChild.textContent = all ? "Show fewer" : `Show all ${whole(total)} ${what}`;
  tools.firstChild.setAttribute("aria-expanded", String(all));
  tools.lastChild.textContent = ` ${whole(all ? total : FEW)} of ${whole(total)} shown`;
}

function drawConfusion(step) {
  if (step.confusion) drawMatrix(step); else drawMistakes(step);
  setText("confusion-note", `The rule ${step.rule}.`);
}
function drawMatrix(step) {
  const table = byId("confusion"), tbody = html("tbody");
  byId("confusion-box").classList.toggle("wide", facts.classes.length > 4);
  table.classList.toggle("dense", facts.classes.length > 6);
  const most = Math.max(...step.confusion.flat(), 1e-12);
  step.confusion.forEach((counts, i) => {
    const row = rowOf(facts.classes[i], counts.map(whole));
    counts.forEach((count, j) => row.cells[j + 1].style.setProperty("--heat", (0.05 + 0.4 * Math.sqrt(count / most)).toFixed(3)));
    tbody.append(row);
  });
  table.replaceChildren(html("caption", "Expected confusion matrix of the cases that are not referred"),
    headed("true class", ...facts.classes.map((name) => `called ${name}`)), tbody);
}
function drawMistakes(step) {
  const { pairs, of, total } = step.mistakes, table = byId("confusion"), tbody = html("tbody");
  table.classList.add("pairs");
  pairs.forEach(([i, j, count]) => {
    const row = html("tr");
    row.append(html("th", facts.classes[i], { scope: "row" }), html("td", facts.classes[j], { class: "text" }), html("td", count.toFixed(1)));
    tbody.append(row);
  });
  const some = pairs.length < of ? `the ${whole(pairs.length)} largest of ${whole(of)}` : "the largest first";
  const head = headed("true class", "called", "expected");
  head.rows[0].cells[1].className = "text";
  table.replaceChildren(html("caption", `Expected confusions among the cases that are not referred, ${some}; ${whole(total)} errors in all`), head, tbody);
  cut(table, "confusions");
}

// Groups: all of them can be searched and sorted.
const grouping = { query: "", column: null, descending: false };
function drawGroups(step) {
  byId("groups-box").hidden = !facts.groups;
  if (!facts.groups) return;
  const { names, rows } = facts.groups, query = grouping.query.toLowerCase();
  const columns = [names, rows, step.groups, step.groups.map((count, k) => count / rows[k])];
  const found = names.map((_, k) => k).filter((k) => names[k].toLowerCase().includes(query));
  if (grouping.column !== null) {
    const values = columns[grouping.column], sign = grouping.descending ? -1 : 1;
    const collator = new Intl.Collator("en", { numeric: true });
    found.sort((a, b) => sign * (grouping.column ? values[a] - values[b] : collator.compare(values[a], values[b])));
  }
  const table = byId("groups");
  table.tBodies[0].replaceChildren(...found.map((k) =>
    rowOf(names[k], [whole(rows[k]), whole(step.groups[k]), percent(columns[3][k])])));
  markSorted(table, grouping.column, grouping.descending);
  cut(table, query ? "found" : "groups");
  setText("groups-shown", query ? `${whole(found.length)} of ${whole(names.length)} found` : "");
}
function markSorted(table, column, descending) {
  [...table.tHead.rows[0].cells].forEach((cell, k) => {
    if (k === column) cell.setAttribute("aria-sort", descending ? "descending" : "ascending");
    else cell.removeAttribute("aria-sort");
  });
}
function sortButtons(table, titles, sortBy) {
  const head = html("tr");
  titles.forEach(([name, kind], column) => {
    const cell = html("th", null, { scope: "col", class: kind }), button = html("button", name, { type: "button" });
    button.addEventListener("click", () => sortBy(column));
    cell.append(button);
    head.append(cell);
  });
  table.tHead.append(head);
}
function buildGroups() {
  if (!facts.groups) return;
  const table = byId("groups"), name = facts.cases.group_name;
  table.caption.textContent = `Referral rate by ${name}`;
  sortButtons(table, [[name, "text"], ["cases", ""], ["referred", ""], ["rate", ""]], (column) => {
    // Largest first is what one wants of numbers.
    grouping.descending = grouping.column === column ? !grouping.descending : column > 0;
    grouping.column = column;
    drawGroups(steps[state.step]);
  });
  byId("groups-tools").hidden = facts.groups.names.length <= UNCUT;
  byId("groups-label").textContent = `Search ${name} `;
  byId("groups-search").addEventListener("input", (event) => { grouping.query = event.target.value; drawGroups(steps[state.step]); });
}

function drawAlternatives(step) {
  const rows = [["this rule, for this metric", step.value], ["nobody referred", facts.before.value],
    ...alternatives.map((name) => [`by ${name}`, step.alternatives[name]])];
  const sign = facts.metric.greater_is_better ? 1 : -1;
  const best = Math.max(...rows.map((row) => (isNumber(row[1]) ? sign * row[1] : -Infinity)));
  // Of those that read the same the first, which is this rule.
  const first = rows.findIndex(([, value]) => isNumber(value) && decimals(value) === decimals(sign * best));
  const tbody = html("tbody");
  rows.forEach(([name, value], k) => tbody.append(rowOf(name, [decimals(value)], k === first ? { class: "best" } : {})));
  byId("alternatives").replaceChildren(html("caption", `At a budget of ${step.text.budget}`),
    headed("cases are referred", `estimated ${facts.metric.title}`), tbody);
}
