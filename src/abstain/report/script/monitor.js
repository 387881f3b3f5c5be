// A stream, chunk by chunk. Where every chunk has a time the axis is time, so that what is missing is a gap.
const chunks = facts.chunks, DAY = 86400, WIDE = 1040;
const timed = chunks.every((c) => isNumber(c.start) && isNumber(c.end));
const middle = (c) => (c.start + c.end) / 2 / DAY;
const places = chunks.map((c, k) => (timed ? middle(c) : k));
const span = [places[0], places[places.length - 1]];
if (span[0] === span[1]) { span[0] -= 0.5; span[1] += 0.5; }
const when = (x) => (timed ? new Date(x * DAY * 1000).toISOString().slice(0, span[1] - span[0] < 3 ? 16 : 10).replace("T", " ")
  : (chunks[Math.round(x)] || { name: "" }).name);
// Chunks that follow each other: of others nothing is known in between.
const runs = [];
chunks.forEach((c, k) => {
  const before = chunks[k - 1];
  if (!before || (timed && c.start - before.end > 1.5 * (c.end - c.start))) runs.push([]);
  runs[runs.length - 1].push(k);
});
const frames = [];

function drawn(id, values, options, low, high) {
  const c = chart(id, { x: span, y: padded(values, low, high), xLabel: timed ? "time (UTC)" : "chunk", xFormat: when, widest: WIDE, ...options });
  frames.push([id, c]);
  return c;
}
function series(c, each, ends, kind) {
  for (const run of runs) {
    const known = run.filter((k) => isNumber(each(k)));
    const held = known.filter((k) => isNumber((ends(k) || [])[0]));
    if (held.length > 1) {
      const up = path(c, held.map((k) => places[k]), held.map((k) => ends(k)[1]));
      const back = [...held].reverse();
      const down = path(c, back.map((k) => places[k]), back.map((k) => ends(k)[0]));
      c.root.append(svg("path", { class: `band ${kind}`, d: `${up}${down.replace("M", "L")}Z` }));
    }
    line(c, known.map((k) => places[k]), known.map(each), kind);
    if (known.length === 1) { whisker(c, places[known[0]], ...(ends(known[0]) || []), kind); dot(c, places[known[0]], each(known[0]), kind, 3); }
  }
}
function level_(c, value, kind) {
  if (isNumber(value)) c.root.append(svg("path", { class: `guide ${kind}`, d: path(c, span, [value, value]) }));
}
function alarms(c, kinds) {
  const found = facts.alarms.filter((a) => kinds.includes(a.kind));
  for (const alarm of found) upright(c, places[alarm.at], "guide missed");
  return found.length ? [["alarm raised", "guide", "guide missed"]] : [];
}
function drawAll() {
  frames.length = 0;
  const title = facts.metric.title;
  const after = (k) => chunks[k].after[0], ends = (k) => chunks[k].after.slice(1);
  const real = (k) => (chunks[k].realised ? chunks[k].realised.after : null);
  const all = chunks.flatMap((c, k) => [...c.after, real(k)]);
  let c = drawn("metric", [...all, facts.floor], { yLabel: title, label: `${title} of each chunk, estimated and realised.` }, ...facts.metric.range);
  series(c, after, ends, "after");
  chunks.forEach((_, k) => dot(c, places[k], real(k), "validation", chunks.length > 200 ? 2.5 : 4));
  level_(c, facts.floor, "withheld");
  const floor = isNumber(facts.floor) ? [["floor", "line", "thin withheld"]] : [];
  legend("metric-legend", [["estimated", "line", "after"], ["realised", "dot", "validation"], ...floor, ...alarms(c, ["metric", "labels", "scores", "model"])]);

  const kinds = ["after", "withheld", "validation", "other", "before", "missed"];
  const shares = chunks.flatMap((one) => [...(one.priors || []), ...(one.interval || []).flat()]);
  c = drawn("proportions", shares, { yLabel: "share of the cases", yFormat: percent, label: "Class proportions of each chunk." }, 0, 1);
  facts.classes.forEach((name, j) => series(c, (k) => (chunks[k].priors || [])[j], (k) => (chunks[k].interval || [])[j], kinds[j]));
  legend("proportions-legend", [...facts.classes.map((name, j) => [name, "line", kinds[j]]), ...alarms(c, ["proportions", "scores"])]);

  c = drawn("referred", [...chunks.map((one) => one.rate), facts.capacity, 0], { yLabel: "share of the cases", yFormat: percent, label: "The share of the cases of each chunk that is referred." }, 0, 1);
  series(c, (k) => chunks[k].rate, () => null, "withheld");
  level_(c, facts.capacity, "before");
  const most = isNumber(facts.capacity) ? [["capacity", "line", "thin before"]] : [];
  legend("referred-legend", [["referred", "line", "withheld"], ...most, ...alarms(c, ["referrals"])]);
  show(Number(byId("chunk").value));
}
function show(k) {
  const one = chunks[k], box = byId("chunk-facts");
  setText("chunk-name", one.name);
  const rows = [...document.querySelectorAll("main table")].map((table) => [table, table.tBodies[0].rows[k]]);
  const said = new Map();
  for (const [table, row] of rows) {
    [...table.tHead.rows[0].cells].forEach((head, j) => { if (j) said.set(head.textContent, row.cells[j].textContent); });
  }
  for (const alarm of facts.alarms) if (alarm.at === k) said.set(`alarm: ${alarm.kind}`, alarm.text);
  box.replaceChildren(...[...said].map(([name, value]) => {
    const item = html("div");
    item.append(html("dt", name), html("dd", value || "–"));
    return item;
  }));
  for (const [id, c] of frames) {
    byId(id).querySelectorAll(".here").forEach((old) => old.remove());
    c.root.append(svg("path", { class: "guide here", d: `M${c.sx(places[k])} ${TOP}V${HEIGHT - BOTTOM}` }));
  }
}
function point(event, id) {
  const found = frames.find(([name]) => name === id);
  if (!found) return;
  const root = byId(id), box = root.getBoundingClientRect();
  const x = ((event.clientX - box.left) / box.width) * root.viewBox.baseVal.width;
  let best = 0;
  places.forEach((p, k) => { if (Math.abs(found[1].sx(p) - x) < Math.abs(found[1].sx(places[best]) - x)) best = k; });
  byId("chunk").value = best;
  show(best);
}
if (chunks.length) {
  byId("chunk").max = chunks.length - 1;
  byId("chunk").value = chunks.length - 1;
  byId("chunk-box").hidden = false;
  byId("chunk").addEventListener("input", (event) => show(Number(event.target.value)));
  for (const id of ["metric", "proportions", "referred"]) byId(id).addEventListener("click", (event) => point(event, id));
  drawAll();
  let last = window.innerWidth;
  window.addEventListener("resize", () => { if (window.innerWidth !== last) { last = window.innerWidth; drawAll(); } });
}
