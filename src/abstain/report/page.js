"use strict";
// The page's script: draws the facts, follows the slider. Text from the data is only ever set
// as text, never as markup.
(() => {
  const facts = JSON.parse(document.getElementById("facts").textContent);
  const steps = facts.steps;
  const byId = (id) => document.getElementById(id);
  const state = { step: facts.chosen, sort: null, descending: false, query: "", pages: 1 };
  const PAGE = 25;

  // ---- Elements --------------------------------------------------------------------------
  function html(tag, text, attributes = {}) {
    const element = document.createElement(tag);
    if (text !== undefined && text !== null) element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  }
  function svg(tag, attributes, text) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    return element;
  }
  const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + ".";
  function setText(id, text) { byId(id).textContent = text; }
  const percent = (share) => (share * 100).toFixed(1).replace(/\.0$/, "") + "%";
  const level = percent(facts.level);
  const whole = (number) => Math.round(number).toLocaleString("en-US");
  const isNumber = (value) => typeof value === "number";
  function decimals(value) {
    if (!isNumber(value)) return "–";
    return Math.abs(value) >= 1000 ? whole(value) : value.toFixed(3);
  }
  function legend(id, entries) {
    byId(id).replaceChildren(...entries.map(([name, kind]) => html("li", name, { class: kind })));
  }

  // ---- A chart: axes with round ticks, and scales ----------------------------------------
  const WIDTH = 480, HEIGHT = 320, LEFT = 58, RIGHT = 14, TOP = 12, BOTTOM = 44;
  function ticks(low, high, wanted) {
    const raw = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
    const found = [];
    for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + step * 1e-6; t += step) found.push(t);
    return found;
  }
  function padded(values, floor, ceiling) {
    const finite = values.filter(isNumber);
    if (!finite.length) return [0, 1];
    let low = Math.min(...finite), high = Math.max(...finite);
    const space = (high - low || Math.abs(high) || 1) * 0.06;
    low -= space; high += space;
    if (isNumber(floor) && Math.min(...finite) >= floor) low = Math.max(low, floor);
    if (isNumber(ceiling) && Math.max(...finite) <= ceiling) high = Math.min(high, ceiling);
    return [low, high];
  }
  function chart(id, { x, y, xLabel, yLabel, xFormat = short, yFormat = short, label, yScale = (v) => v, yTicks }) {
    const root = byId(id);
    root.replaceChildren();
    root.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    root.setAttribute("aria-label", label);
    const bottom = yScale(y[0]), top = yScale(y[1]);
    const sx = (v) => LEFT + ((v - x[0]) / (x[1] - x[0])) * (WIDTH - LEFT - RIGHT);
    const sy = (v) => HEIGHT - BOTTOM - ((yScale(v) - bottom) / (top - bottom)) * (HEIGHT - TOP - BOTTOM);
    for (const t of yTicks || ticks(y[0], y[1], 5)) {
      root.append(svg("path", { class: "axis", d: `M${LEFT} ${sy(t)}H${WIDTH - RIGHT}` }));
      root.append(svg("text", { x: LEFT - 7, y: sy(t) + 4, "text-anchor": "end" }, yFormat(t)));
    }
    for (const t of ticks(x[0], x[1], 6)) {
      root.append(svg("text", { x: sx(t), y: HEIGHT - BOTTOM + 17, "text-anchor": "middle" }, xFormat(t)));
    }
    root.append(svg("path", { class: "axis", d: `M${LEFT} ${HEIGHT - BOTTOM}H${WIDTH - RIGHT}` }));
    root.append(svg("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, xLabel));
    root.append(svg("text", { x: 13, y: (TOP + HEIGHT - BOTTOM) / 2, "text-anchor": "middle", transform: `rotate(-90 13 ${(TOP + HEIGHT - BOTTOM) / 2})` }, yLabel));
    return { root, sx, sy };
  }
  function short(value) { return String(parseFloat(value.toPrecision(4))); }
  function path(c, xs, ys) {
    let d = "";
    xs.forEach((x, k) => { if (isNumber(ys[k])) d += `${d ? "L" : "M"}${c.sx(x).toFixed(1)} ${c.sy(ys[k]).toFixed(1)}`; });
    return d;
  }
  function line(c, xs, ys, kind) { c.root.append(svg("path", { class: `line ${kind}`, d: path(c, xs, ys) })); }
  function dot(c, x, y, kind, size = 5) {
    if (isNumber(y)) c.root.append(svg("circle", { class: `dot ${kind}`, cx: c.sx(x), cy: c.sy(y), r: size }));
  }

  // ---- What follows the slider -----------------------------------------------------------
  const budgets = steps.map((s) => s.budget);
  const values = steps.map((s) => s.value);
  const alternatives = Object.keys(steps[0].alternatives);

  function drawCurve(step) {
    const title = facts.metric.title;
    const others = alternatives.flatMap((name) => steps.map((s) => s.alternatives[name]));
    const ends = steps.flatMap((s) => s.interval);
    const c = chart("curve", {
      x: [0, budgets[budgets.length - 1]], y: padded([...values, ...ends, ...others], 0, 1), xLabel: "budget",
      yLabel: title, xFormat: percent,
      label: `${title} against the budget. At ${step.text.budget}: ${step.text.value}, ${level} interval ${step.text.interval}.`,
    });
    const inside = steps.filter((s) => isNumber(s.interval[0]));
    if (inside.length) {
      const up = path(c, inside.map((s) => s.budget), inside.map((s) => s.interval[1]));
      const down = path(c, inside.map((s) => s.budget).reverse(), inside.map((s) => s.interval[0]).reverse());
      c.root.append(svg("path", { class: "band after", d: `${up}${down.replace("M", "L")}Z` }));
    }
    alternatives.forEach((name, k) => line(c, budgets, steps.map((s) => s.alternatives[name]), `alternative alternative-${k % 4}`));
    c.root.append(svg("path", { class: "guide", d: `M${c.sx(step.budget)} ${TOP}V${HEIGHT - BOTTOM}` }));
    line(c, budgets, values, "after");
    dot(c, step.budget, step.value, "after", 6);
    legend("curve-legend", [["this rule", "after"], ...alternatives.map((name, k) => [name, `alternative-${k % 4}`])]);
  }

  function drawRoc(step) {
    const before = steps[0].roc;
    byId("roc-figure").hidden = !before;
    if (!before) return;
    const c = chart("roc", {
      x: [0, 1], y: [0, 1], xLabel: "1 − specificity", yLabel: "sensitivity",
      label: `ROC curves of all cases and of the ${whole(facts.rows - step.withheld)} that are not referred.`,
    });
    c.root.append(svg("path", { class: "diagonal", d: path(c, [0, 1], [0, 1]) }));
    line(c, before.x, before.y, "before");
    if (step.roc) line(c, step.roc.x, step.roc.y, "after");
    legend("roc-legend", [["all cases", "before"], ["not referred", "after"]]);
  }

  function drawHistogram(step) {
    const h = step.histogram, n = h.all.length, most = Math.max(...h.all);
    const width = (h.high - h.low) / n;
    const round = (v) => { const power = 10 ** Math.floor(Math.log10(v)); return Math.floor(v / power) * power; };
    const at = [0, ...[0.06, 0.25, 0.55, 1].map((share) => most * share).filter((v) => v >= 1).map(round)];
    const c = chart("histogram", {
      x: [h.low, h.high], y: [0, most || 1], xLabel: h.label, yLabel: "cases (square-root scale)",
      yScale: Math.sqrt, yFormat: whole, yTicks: at,
      label: `Histogram of the ${h.label}; ${step.text.withheld} cases are referred: ${step.region}.`,
    });
    h.all.forEach((count, k) => {
      const left = c.sx(h.low + k * width) + 0.5, wide = c.sx(h.low + (k + 1) * width) - left - 0.5;
      const base = c.sy(0);
      if (count) c.root.append(svg("rect", { class: "bar before", x: left, y: c.sy(count), width: wide, height: base - c.sy(count) }));
      if (h.withheld[k]) c.root.append(svg("rect", { class: "bar withheld", x: left, y: c.sy(h.withheld[k]), width: wide, height: base - c.sy(h.withheld[k]) }));
    });
    if (isNumber(h.threshold)) c.root.append(svg("path", { class: "guide", d: `M${c.sx(h.threshold)} ${TOP}V${HEIGHT - BOTTOM}` }));
    if (isNumber(step.threshold)) c.root.append(svg("path", { class: "line thin after", d: `M${c.sx(step.threshold)} ${TOP}V${HEIGHT - BOTTOM}` }));
    setText("histogram-caption", `The scores of all cases and of those referred: ${step.region}.` +
      (isNumber(step.threshold) ? ` The dashed line is where the rest is called ${facts.classes[1]}: from ${step.threshold.toFixed(3)} on.` : ""));
    legend("histogram-legend", [["all cases", "before"], ["referred", "withheld"]]);
  }

  function drawConfusion(step) {
    const table = byId("confusion");
    const most = Math.max(...step.confusion.flat(), 1e-12);
    const head = html("tr");
    head.append(html("th", "true class", { scope: "col" }), ...facts.classes.map((name) => html("th", `called ${name}`, { scope: "col" })));
    const thead = html("thead"), tbody = html("tbody");
    thead.append(head);
    step.confusion.forEach((row, i) => {
      const tr = html("tr");
      tr.append(html("th", facts.classes[i], { scope: "row" }));
      row.forEach((count) => {
        const cell = html("td", whole(count));
        cell.style.setProperty("--heat", (0.05 + 0.5 * Math.sqrt(count / most)).toFixed(3));
        tr.append(cell);
      });
      tbody.append(tr);
    });
    table.replaceChildren(html("caption", "Expected confusion matrix of the cases that are not referred"), thead, tbody);
    setText("confusion-note", `The rule ${step.rule}.`);
  }

  function drawGroups(step) {
    byId("groups-box").hidden = !facts.groups;
    if (!facts.groups) return;
    const thead = html("thead"), tbody = html("tbody"), head = html("tr");
    [facts.cases.group_name, "cases", "referred", "rate"].forEach((name) => head.append(html("th", name, { scope: "col" })));
    thead.append(head);
    facts.groups.names.forEach((name, k) => {
      const row = html("tr");
      row.append(html("th", name, { scope: "row" }), html("td", whole(facts.groups.rows[k])), html("td", whole(step.groups[k])),
        html("td", percent(step.groups[k] / facts.groups.rows[k])));
      tbody.append(row);
    });
    byId("groups").replaceChildren(html("caption", `Referral rate by ${facts.cases.group_name}`), thead, tbody);
  }

  function drawAlternatives(step) {
    const rows = [["this rule, for this metric", step.value], ["nobody referred", facts.before.value],
      ...alternatives.map((name) => [`by ${name}`, step.alternatives[name]])];
    const sign = facts.metric.greater_is_better ? 1 : -1;
    const best = Math.max(...rows.map((row) => (isNumber(row[1]) ? sign * row[1] : -Infinity)));
    const thead = html("thead"), tbody = html("tbody"), head = html("tr");
    head.append(html("th", "cases are referred", { scope: "col" }), html("th", `estimated ${facts.metric.title}`, { scope: "col" }));
    thead.append(head);
    rows.forEach(([name, value]) => {
      const row = html("tr", null, isNumber(value) && sign * value === best ? { class: "best" } : {});
      row.append(html("th", name, { scope: "row" }), html("td", decimals(value)));
      tbody.append(row);
    });
    byId("alternatives").replaceChildren(html("caption", `At a budget of ${step.text.budget}`), thead, tbody);
  }

  function drawProportions(step) {
    const moved = facts.moved, k = moved.classes.length;
    const series = [["validation", moved.validation, "before"], ["now", moved.target, "after"], ["not referred", step.proportions, "withheld"]];
    const highest = Math.max(...series.flatMap((s) => s[1] || [0]), ...(moved.interval || []).flat().filter(isNumber));
    const c = chart("proportions", {
      x: [0, k], y: [0, Math.min(1, highest * 1.08)], xLabel: "class", yLabel: "proportion", xFormat: () => "", yFormat: percent,
      label: "Class proportions. " + moved.classes.map((name, i) => `${name}: ${percent(moved.validation[i])} at validation, ${percent(moved.target[i])} now`).join("; ") + ".",
    });
    moved.classes.forEach((name, i) => {
      series.forEach(([, shares, kind], s) => {
        if (!shares) return;
        const left = c.sx(i + 0.14 + 0.25 * s), wide = c.sx(i + 0.36 + 0.25 * s) - left;
        c.root.append(svg("rect", { class: `bar ${kind}`, x: left, y: c.sy(shares[i]), width: wide, height: c.sy(0) - c.sy(shares[i]) }));
        if (kind === "after" && moved.interval) {
          const middle = left + wide / 2, [low, high] = moved.interval[i];
          if (isNumber(low)) c.root.append(svg("path", { class: "whisker before", d: `M${middle} ${c.sy(low)}V${c.sy(Math.min(high, 1))}` }));
        }
      });
      const shown = name.length > 14 ? name.slice(0, 13) + "…" : name;
      c.root.append(svg("text", { x: c.sx(i + 0.5), y: HEIGHT - BOTTOM + 17, "text-anchor": "middle" }, k > 12 && i % Math.ceil(k / 12) ? "" : shown));
    });
    legend("proportions-legend", series.filter((s) => s[1]).map(([name, , kind]) => [name, kind]));
  }

  // ---- Cost: the reader's own numbers ----------------------------------------------------
  const price = { errors: facts.costs.errors.map((row) => row.slice()), abstain: facts.costs.abstain };
  function costOf(step) {
    let total = price.abstain * step.rate * kept0;
    step.confusion.forEach((row, i) => row.forEach((count, j) => { total += count * price.errors[i][j]; }));
    return total / kept0;
  }
  const kept0 = steps[0].confusion.flat().reduce((a, b) => a + b, 0);
  function drawCost(step) {
    const costs = steps.map(costOf), now = costOf(step);
    const c = chart("cost-curve", {
      x: [0, budgets[budgets.length - 1]], y: padded([...costs, 0], 0), xLabel: "budget", yLabel: "cost per case", xFormat: percent,
      label: `Expected cost per case against the budget; at ${step.text.budget} it is ${decimals(now)}.`,
    });
    c.root.append(svg("path", { class: "guide", d: `M${c.sx(step.budget)} ${TOP}V${HEIGHT - BOTTOM}` }));
    line(c, budgets, costs, "after");
    dot(c, step.budget, now, "after", 6);
    setText("card-cost", decimals(now));
  }
  function buildCostInputs() {
    const form = byId("cost-inputs"), k = facts.classes.length;
    const add = (name, value, set) => {
      const label = html("label", name), input = html("input", null, { type: "number", min: "0", step: "any", value: String(value) });
      input.addEventListener("input", () => { set(Math.max(0, parseFloat(input.value) || 0)); drawCost(steps[state.step]); });
      label.append(input);
      form.append(label);
    };
    add("a referral costs", price.abstain, (v) => { price.abstain = v; });
    if (k === 2) {
      add(`${facts.classes[1]} called ${facts.classes[0]} costs`, price.errors[1][0], (v) => { price.errors[1][0] = v; });
      add(`${facts.classes[0]} called ${facts.classes[1]} costs`, price.errors[0][1], (v) => { price.errors[0][1] = v; });
    } else if (!facts.costs.given) {
      add("a wrong class costs", 1, (v) => price.errors.forEach((row, i) => row.forEach((_, j) => { row[j] = i === j ? 0 : v; })));
    }
    setText("cost-intro", facts.costs.given ? "With the costs the decisions were made with; change them to see what follows."
      : "Put in what a mistake and a referral cost you; the starting values count mistakes.");
  }

  // ---- The table of cases ----------------------------------------------------------------
  const cases = facts.cases;
  const names = [cases.id_name, ...(cases.groups ? [cases.group_name] : []), "prediction", ...cases.columns];
  const rows = cases.ids.map((id, k) => ({
    steps: cases.steps[k],
    cells: [id, ...(cases.groups ? [facts.groups.names[cases.groups[k]]] : []), cases.predictions[k], ...cases.proba[k]],
  }));
  const textColumns = names.length - cases.columns.length;
  const refers = (mask, step) => Math.floor(mask / 2 ** step) % 2 === 1;
  function compare(a, b) {
    if (isNumber(a) && isNumber(b)) return a - b;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  }
  function listed() {
    const query = state.query.toLowerCase();
    const found = rows.filter((row) => refers(row.steps, state.step) &&
      (!query || row.cells.slice(0, textColumns).some((cell) => String(cell).toLowerCase().includes(query))));
    if (state.sort !== null) found.sort((a, b) => compare(a.cells[state.sort], b.cells[state.sort]) * (state.descending ? -1 : 1));
    return found;
  }
  function cellText(cell, column) { return column >= textColumns ? cell.toFixed(3) : String(cell); }
  function drawCases() {
    const found = listed(), shown = found.slice(0, state.pages * PAGE);
    byId("cases").tBodies[0].replaceChildren(...shown.map((row) => {
      const tr = html("tr");
      row.cells.forEach((cell, column) => tr.append(html("td", cellText(cell, column), column < textColumns ? { class: "text" } : {})));
      return tr;
    }));
    [...byId("cases").tHead.rows[0].cells].forEach((cell, column) => {
      if (column === state.sort) cell.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    });
    setText("shown", `${whole(shown.length)} of ${whole(found.length)} shown`);
    byId("more").hidden = shown.length === found.length;
    byId("download").disabled = !found.length;
  }
  function buildCases() {
    const head = html("tr");
    names.forEach((name, column) => {
      const cell = html("th", null, { scope: "col", ...(column < textColumns ? { class: "text" } : {}) });
      const button = html("button", name, { type: "button" });
      button.addEventListener("click", () => {
        state.descending = state.sort === column ? !state.descending : false;
        state.sort = column;
        drawCases();
      });
      cell.append(button);
      head.append(cell);
    });
    byId("cases").tHead.append(head);
    setText("left-out", cases.left_out ? `${whole(cases.left_out)} more cases that some budget would refer are not in this page; the file of decisions has all of them.` : "");
  }
  // A cell that a spreadsheet would take for a formula is made text; numbers stay numbers.
  function csvCell(cell) {
    if (isNumber(cell)) return String(cell);
    let text = String(cell);
    const number = /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(text);
    if (!number && /^[=+\-@\t\r]/.test(text)) text = "'" + text;
    return /[",\r\n\t]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text;
  }
  function download() {
    const lines = [names, ...listed().map((row) => row.cells)].map((cells) => cells.map(csvCell).join(","));
    const blob = new Blob([lines.join("\r\n") + "\r\n"], { type: "text/csv" });
    const link = html("a", null, { download: "referred.csv", href: URL.createObjectURL(blob) });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  // ---- How far to trust it: does not move ------------------------------------------------
  function whisker(c, x, low, high, kind) {
    if (isNumber(low) && isNumber(high)) c.root.append(svg("path", { class: `whisker ${kind}`, d: `M${c.sx(x)} ${c.sy(low)}V${c.sy(high)}` }));
  }
  function drawTrust() {
    const reliability = facts.trust.reliability, test = facts.trust.back_test;
    byId("reliability-figure").hidden = !reliability;
    byId("back-test-figure").hidden = !test || !test.points.length;
    if (reliability) {
      const c = chart("reliability", {
        x: [0, 1], y: [0, 1], xLabel: `probability of ${reliability.what}`, yLabel: "how often it came true",
        label: `Reliability diagram with ${reliability.bins.length} bins; mean distance ${decimals(reliability.error)}.`,
      });
      c.root.append(svg("path", { class: "diagonal", d: path(c, [0, 1], [0, 1]) }));
      reliability.bins.forEach((bin) => { whisker(c, bin.probability, ...bin.interval, "after"); dot(c, bin.probability, bin.frequency, "after"); });
    }
    if (test && test.points.length) {
      const both = padded(test.points.flatMap((p) => [p.estimated, p.realised, ...p.interval]), 0, 1);
      const c = chart("back-test", {
        x: both, y: both, xLabel: "realised", yLabel: "estimated",
        label: `Back-test: the interval held the realised value in ${test.inside} of ${test.points.length} simulated shifts.`,
      });
      c.root.append(svg("path", { class: "diagonal", d: path(c, both, both) }));
      test.points.forEach((p) => { const kind = p.inside ? "after" : "withheld"; whisker(c, p.realised, ...p.interval, kind); dot(c, p.realised, p.estimated, kind); });
    }
  }

  // ---- The slider ------------------------------------------------------------------------
  function show(number) {
    state.step = number;
    state.pages = 1;
    const step = steps[number], input = byId("budget");
    input.value = String(number);
    input.setAttribute("aria-valuetext", `${step.text.budget}: ${step.text.withheld} cases referred, ${facts.metric.title} ${step.text.value}`);
    byId("reset").disabled = number === facts.chosen;
    byId("slider").classList.toggle("moved", number !== facts.chosen);
    setText("budget-text", step.text.budget);
    if (byId("answer").textContent !== step.headline) setText("answer", step.headline);
    setText("region", `${sentence(step.region)} For the rest, the rule ${step.rule}.`);
    setText("card-withheld", step.text.withheld);
    setText("card-rate", `${step.text.rate} of ${whole(facts.rows)} cases`);
    setText("card-value", step.text.value);
    setText("card-interval", `${level} interval ${step.text.interval}`);
    for (const draw of [drawCurve, drawRoc, drawHistogram, drawConfusion, drawCost, drawProportions, drawGroups, drawAlternatives]) draw(step);
    drawCases();
  }

  const input = byId("budget");
  input.max = String(steps.length - 1);
  input.addEventListener("input", () => show(Number(input.value)));
  byId("reset").addEventListener("click", () => { show(facts.chosen); input.focus(); });
  byId("search").addEventListener("input", (event) => { state.query = event.target.value; state.pages = 1; drawCases(); });
  byId("more").addEventListener("click", () => { state.pages += 4; drawCases(); });
  byId("download").addEventListener("click", download);
  // Paper has no button to show more, but not all of them fit on it either.
  let pages = 1;
  window.addEventListener("beforeprint", () => { pages = state.pages; state.pages = Math.max(state.pages, 4); drawCases(); });
  window.addEventListener("afterprint", () => { state.pages = pages; drawCases(); });
  setText("card-before", decimals(facts.before.value));
  setText("card-before-interval", `${level} interval ${decimals(facts.before.interval[0])} to ${decimals(facts.before.interval[1])}`);
  if (facts.rows_drawn < facts.rows) {
    setText("drawn", `The curves and tables are drawn from ${whole(facts.rows_drawn)} cases picked at random; counts and rates are of all ${whole(facts.rows)}.`);
  }
  buildCostInputs();
  buildCases();
  drawTrust();
  show(facts.chosen);
})();
