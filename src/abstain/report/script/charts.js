// A chart: axes with round ticks, and scales. It is drawn as wide as it is shown, so that its
// text is as large as the text around it.
const HEIGHT = 280, TOP = 12, BOTTOM = 44, NARROWEST = 260, WIDEST = 512, LETTER = 7;
function widthOf(root, widest) {
  const wide = root.clientWidth || (root.parentNode.clientWidth) || 480;
  return Math.max(NARROWEST, Math.min(widest, wide));
}
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
// Cut text to the room there is for it; the whole of it is told when pointed at.
function fit(element, room) {
  const text = element.textContent;
  if (element.getComputedTextLength() <= room) return element;
  // Long names often differ at their ends alone, so it is the middle that goes.
  const letters = [...text];
  const kept = (n) => letters.slice(0, Math.ceil(n / 2)).join("").trimEnd() + "…" + letters.slice(letters.length - Math.floor(n / 2)).join("").trimStart();
  let low = 0, high = letters.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    element.textContent = kept(middle);
    if (element.getComputedTextLength() <= room) low = middle; else high = middle - 1;
  }
  element.textContent = kept(low);
  element.append(svg("title", {}, text));
  return element;
}
function frame(id, label, height, widest = WIDEST) {
  const root = byId(id), width = widthOf(root, widest);
  root.replaceChildren();
  root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  root.setAttribute("aria-label", label);
  return { root, width };
}
function chart(id, { x, y, xLabel, yLabel, xFormat = short, yFormat = short, label, yScale = (v) => v, yTicks, widest }) {
  const { root, width } = frame(id, label, HEIGHT, widest);
  const across = (yTicks || ticks(y[0], y[1], 5)).map((t) => [t, yFormat(t)]);
  const left = 30 + LETTER * Math.max(2, ...across.map(([, text]) => text.length));
  // As many ticks as there is room for.
  const longest = (wanted) => Math.max(...ticks(x[0], x[1], wanted).map((t) => xFormat(t).length));
  let wanted = 6;
  while (wanted > 2 && (longest(wanted) * LETTER + 14) * (wanted + 1) > width - left) wanted -= 1;
  const right = Math.max(14, (longest(wanted) * LETTER) / 2 + 2);
  const bottom = yScale(y[0]), top = yScale(y[1]);
  const sx = (v) => left + ((v - x[0]) / (x[1] - x[0])) * (width - left - right);
  const sy = (v) => HEIGHT - BOTTOM - ((yScale(v) - bottom) / (top - bottom)) * (HEIGHT - TOP - BOTTOM);
  let above = Infinity;
  for (const [t, text] of across) {
    root.append(svg("path", { class: "axis", d: `M${left} ${sy(t)}H${width - right}` }));
    // On a bent scale ticks may come too near to each other.
    if (above - sy(t) < 15) continue;
    above = sy(t);
    root.append(svg("text", { x: left - 7, y: sy(t) + 4, "text-anchor": "end" }, text));
  }
  for (const t of ticks(x[0], x[1], wanted)) {
    root.append(svg("text", { x: sx(t), y: HEIGHT - BOTTOM + 17, "text-anchor": "middle" }, xFormat(t)));
  }
  root.append(svg("path", { class: "axis", d: `M${left} ${HEIGHT - BOTTOM}H${width - right}` }));
  const middle = (TOP + HEIGHT - BOTTOM) / 2;
  const titles = [[svg("text", { x: (left + width - right) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, xLabel), width - left - right],
    [svg("text", { x: 13, y: middle, "text-anchor": "middle", transform: `rotate(-90 13 ${middle})` }, yLabel), HEIGHT - TOP - BOTTOM]];
  for (const [title, room] of titles) { root.append(title); fit(title, room); }
  return { root, sx, sy };
}
function path(c, xs, ys) {
  let d = "";
  xs.forEach((x, k) => { if (isNumber(ys[k])) d += `${d ? "L" : "M"}${c.sx(x).toFixed(1)} ${c.sy(ys[k]).toFixed(1)}`; });
  return d;
}
function line(c, xs, ys, kind) { c.root.append(svg("path", { class: `line ${kind}`, d: path(c, xs, ys) })); }
function upright(c, x, kind) { c.root.append(svg("path", { class: kind, d: `M${c.sx(x)} ${TOP}V${HEIGHT - BOTTOM}` })); }
function dot(c, x, y, kind, size = 5) {
  if (isNumber(y)) c.root.append(svg("circle", { class: `dot ${kind}`, cx: c.sx(x), cy: c.sy(y), r: size }));
}
function whisker(c, x, low, high, kind) {
  if (isNumber(low) && isNumber(high)) c.root.append(svg("path", { class: `whisker ${kind}`, d: `M${c.sx(x)} ${c.sy(low)}V${c.sy(high)}` }));
}
// Each entry is a name and the mark that it has in the chart: its shape and its classes.
function legend(id, entries) {
  byId(id).replaceChildren(...entries.map(([name, shape, kind]) => {
    const mark = svg("svg", { width: 26, height: 12, viewBox: "0 0 26 12", "aria-hidden": "true" });
    if (shape === "line") mark.append(svg("path", { class: `line ${kind}`, d: "M0 6H26" }));
    if (shape === "bar") mark.append(svg("rect", { class: `bar ${kind}`, x: 6, y: 0, width: 14, height: 12 }));
    if (shape === "dot") mark.append(svg("circle", { class: `dot ${kind}`, cx: 13, cy: 6, r: 5 }));
    if (shape === "guide") mark.append(svg("path", { class: kind, d: "M13 0V12" }));
    const item = html("li");
    item.append(mark, document.createTextNode(name));
    return item;
  }));
}
