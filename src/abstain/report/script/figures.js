// The figures. What a colour means is written at the top of page.css.
const budgets = steps.map((s) => s.budget);
const alternatives = Object.keys(steps[0].alternatives);
const binary = facts.classes.length === 2;

function drawCurve(step) {
  const title = facts.metric.title, values = steps.map((s) => s.value);
  const others = alternatives.flatMap((name) => steps.map((s) => s.alternatives[name]));
  const c = chart("curve", {
    x: [0, budgets[budgets.length - 1]], y: padded([...values, ...steps.flatMap((s) => s.interval), ...others], 0, 1),
    xLabel: "budget", yLabel: title, xFormat: percent,
    label: `${title} against the budget. At ${step.text.budget}: ${step.text.value}, ${level} interval ${step.text.interval}.`,
  });
  const inside = steps.filter((s) => isNumber(s.interval[0]));
  if (inside.length) {
    const up = path(c, inside.map((s) => s.budget), inside.map((s) => s.interval[1]));
    const down = path(c, inside.map((s) => s.budget).reverse(), inside.map((s) => s.interval[0]).reverse());
    c.root.append(svg("path", { class: "band after", d: `${up}${down.replace("M", "L")}Z` }));
  }
  alternatives.forEach((name, k) => line(c, budgets, steps.map((s) => s.alternatives[name]), `other other-${k % 4}`));
  upright(c, step.budget, "guide");
  line(c, budgets, values, "after");
  dot(c, step.budget, step.value, "after", 6);
  legend("curve-legend", [["this rule", "line", "after"], ...alternatives.map((name, k) => [name, "line", `other other-${k % 4}`]), ["the budget", "guide", "guide"]]);
}

function drawRoc(step) {
  const before = steps[0].roc;
  byId("roc-figure").hidden = !before;
  if (!before) return;
  const c = chart("roc", {
    x: [0, 1], y: [0, 1], xLabel: "1 − specificity", yLabel: `sensitivity for ${facts.classes[1]}`,
    label: `ROC curves of all cases and of the ${whole(facts.rows - step.withheld)} that are not referred.`,
  });
  c.root.append(svg("path", { class: "diagonal", d: path(c, [0, 1], [0, 1]) }));
  line(c, before.x, before.y, "before");
  if (step.roc) line(c, step.roc.x, step.roc.y, "after");
  legend("roc-legend", [["all cases", "line", "before"], ["not referred", "line", "after"]]);
}

function drawHistogram(step) {
  const h = step.histogram, n = h.all.length, most = Math.max(...h.all);
  const width = (h.high - h.low) / n;
  const round = (v) => { const power = 10 ** Math.floor(Math.log10(v)); return Math.floor(v / power) * power; };
  const at = [0, ...[0.06, 0.25, 0.55, 1].map((share) => most * share).filter((v) => v >= 1).map(round)];
  const c = chart("histogram", {
    x: [h.low, h.high], y: [0, most || 1], xLabel: h.label, yLabel: "cases (square-root scale)",
    yScale: Math.sqrt, yFormat: whole, yTicks: at,
    label: `Histogram of ${h.label}; ${step.text.withheld} cases are referred: ${step.region}.`,
  });
  h.all.forEach((count, k) => {
    const left = c.sx(h.low + k * width) + 0.5, wide = c.sx(h.low + (k + 1) * width) - left - 0.5;
    for (const [value, kind] of [[count, "before"], [h.withheld[k], "withheld"]]) {
      if (value) c.root.append(svg("rect", { class: `bar ${kind}`, x: left, y: c.sy(value), width: wide, height: c.sy(0) - c.sy(value) }));
    }
  });
  if (isNumber(h.threshold)) upright(c, h.threshold, "guide withheld");
  const called = isNumber(step.threshold) && binary;
  if (called) upright(c, step.threshold, "line thin after");
  setText("histogram-caption", `The scores of all cases and of those referred: ${step.region}.` +
    (called ? ` The dashed line is where the rest is called ${facts.classes[1]}: from ${step.threshold.toFixed(3)} on.` : ""));
  legend("histogram-legend", [["all cases", "bar", "before"], ["referred", "bar", "withheld"]]);
}

// Of many classes those that moved most come first, and the rest when asked for.
const FEW = 7, UNCUT = 10;
let allShares = false;
function drawProportions(step) {
  const moved = facts.moved, every = moved.classes.map((_, i) => i);
  if (every.length > UNCUT) every.sort((a, b) => Math.abs(moved.target[b] - moved.validation[b]) - Math.abs(moved.target[a] - moved.validation[a]));
  const shown = allShares || every.length <= UNCUT ? every : every.slice(0, FEW);
  const series = [["validation", moved.validation, "validation"], ["now", moved.target, "before"], ["now, not referred", step.proportions, "after"]].filter((s) => s[1]);
  const ends = moved.interval ? shown.flatMap((i) => moved.interval[i] || []).filter(isNumber) : [];
  const highest = Math.min(1, Math.max(...shown.flatMap((i) => series.map((s) => s[1][i])), ...ends) * 1.04) || 1;
  const bar = shown.length > 4 ? 8 : 13, group = 3 * bar + 12, height = 10 + shown.length * group + BOTTOM;
  const told = shown.map((i) => `${moved.classes[i]}: ${percent(moved.validation[i])} at validation, ${percent(moved.target[i])} now`);
  const { root, width } = frame("proportions", `Class proportions. ${told.join("; ")}.`, height);
  const left = Math.min(190, Math.round(width * 0.38)), right = 20, bottom = height - BOTTOM;
  const sx = (v) => left + (v / highest) * (width - left - right);
  let beyond = -Infinity;
  for (const t of ticks(0, highest, width > 400 ? 5 : 3)) {
    root.append(svg("path", { class: "axis", d: `M${sx(t)} 4V${bottom}` }));
    if (sx(t) - beyond < 36) continue;
    beyond = sx(t);
    root.append(svg("text", { x: sx(t), y: bottom + 17, "text-anchor": "middle" }, percent(t)));
  }
  root.append(svg("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, "proportion"));
  shown.forEach((i, row) => {
    const top = 8 + row * group;
    series.forEach(([, shares, kind], s) => {
      root.append(svg("rect", { class: `bar ${kind}`, x: left, y: top + s * bar, width: Math.max(sx(shares[i]) - left, 0), height: bar - 1 }));
    });
    const [low, high] = (moved.interval && moved.interval[i]) || [];
    if (isNumber(low) && isNumber(high)) {
      const y = top + 1.5 * bar - 0.5;
      root.append(svg("path", { class: "whisker before", d: `M${sx(low)} ${y}H${sx(Math.min(high, highest))}` }));
    }
    const name = svg("text", { class: "name", x: left - 8, y: top + 1.5 * bar + 4, "text-anchor": "end" }, moved.classes[i]);
    root.append(name);
    fit(name, left - 10);
  });
  legend("proportions-legend", series.map(([name, , kind]) => [name, "bar", kind]));
  const button = byId("proportions-all");
  button.hidden = every.length <= UNCUT;
  button.textContent = allShares ? "Show fewer bars" : `Show all ${every.length} classes`;
  button.setAttribute("aria-expanded", String(allShares));
}
byId("proportions-all").addEventListener("click", () => { allShares = !allShares; drawProportions(steps[state.step]); });

// ---- Cost: the reader's own numbers -------------------------------------------------------
const price = { errors: binary ? facts.costs.errors.map((row) => row.slice()) : null, wrong: 1, abstain: facts.costs.abstain };
function costOf(step) {
  let errors = price.wrong * step.error_cost;
  if (binary) {
    errors = 0;
    step.confusion.forEach((row, i) => row.forEach((count, j) => { errors += count * price.errors[i][j]; }));
  }
  return price.abstain * step.rate + errors / facts.weight;
}
const amount = (value) => (Math.abs(value) >= 1000 ? whole(value) : String(+value.toPrecision(3)));
function drawCost(step) {
  const costs = steps.map(costOf), now = costOf(step);
  const c = chart("cost-curve", {
    x: [0, budgets[budgets.length - 1]], y: padded([...costs, 0], 0), xLabel: "budget", yLabel: "cost per case", xFormat: percent,
    label: `Expected cost per case against the budget; at ${step.text.budget} it is ${amount(now)}.`,
  });
  upright(c, step.budget, "guide");
  line(c, budgets, costs, "after");
  dot(c, step.budget, now, "after", 6);
  setText("card-cost", amount(now));
}
function buildCostInputs() {
  byId("cost-card").hidden = !facts.costs.given;
  const form = byId("cost-inputs");
  const add = (name, value, set) => {
    const label = html("label", name), input = html("input", null, { type: "number", min: "0", step: "any", value: String(value) });
    input.addEventListener("input", () => { set(Math.max(0, parseFloat(input.value) || 0)); drawCost(steps[state.step]); });
    label.append(input);
    form.append(label);
  };
  add("a referral costs", price.abstain, (v) => { price.abstain = v; });
  if (binary) {
    add(`${facts.classes[1]} called ${facts.classes[0]} costs`, price.errors[1][0], (v) => { price.errors[1][0] = v; });
    add(`${facts.classes[0]} called ${facts.classes[1]} costs`, price.errors[0][1], (v) => { price.errors[0][1] = v; });
  } else if (!facts.costs.given) {
    add("a wrong class costs", 1, (v) => { price.wrong = v; });
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  setText("cost-intro", facts.costs.given ? "With the costs the decisions were made with; change them to see what follows."
    : "Put in what a mistake and a referral cost you; the starting values count mistakes.");
}

// ---- How far to trust it: does not follow the slider --------------------------------------
function drawTrust() {
  const reliability = facts.trust.reliability, test = facts.trust.back_test;
  byId("reliability-figure").hidden = !reliability;
  byId("back-test-figure").hidden = !test || !test.points.length;
  if (reliability) {
    const c = chart("reliability", {
      x: [0, 1], y: [0, 1], xLabel: reliability.what, yLabel: "how often it came true",
      label: `Reliability diagram with ${reliability.bins.length} bins; mean distance ${decimals(reliability.error, 3)}.`,
    });
    c.root.append(svg("path", { class: "diagonal", d: path(c, [0, 1], [0, 1]) }));
    reliability.bins.forEach((bin) => { whisker(c, bin.probability, ...bin.interval, "validation"); dot(c, bin.probability, bin.frequency, "validation"); });
  }
  if (test && test.points.length) {
    const both = padded(test.points.flatMap((p) => [p.estimated, p.realised, ...p.interval]), 0, 1);
    const c = chart("back-test", {
      x: both, y: both, xLabel: "realised", yLabel: "estimated",
      label: `Back-test: the interval held the realised value in ${test.inside} of ${test.points.length} simulated shifts.`,
    });
    c.root.append(svg("path", { class: "diagonal", d: path(c, both, both) }));
    test.points.forEach((p) => { const kind = p.inside ? "validation" : "missed"; whisker(c, p.realised, ...p.interval, kind); dot(c, p.realised, p.estimated, kind); });
    legend("back-test-legend", [["the interval held", "dot", "validation"], ["it did not", "dot", "missed"]]);
  }
}
