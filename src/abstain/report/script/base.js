// What everything else is made of: the facts, elements, numbers as text.
// Text from the data is only ever set as text, never as markup.
const facts = JSON.parse(document.getElementById("facts").textContent);
const steps = facts.steps;
const byId = (id) => document.getElementById(id);
const state = { step: facts.chosen };

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
// As Python writes a share: two digits of what is less than a thousandth, from either end.
function percent(share) {
  const least = Math.min(Math.abs(share), Math.abs(1 - share));
  const places = least > 1e-6 && least < 9.5e-4 ? -1 - Math.floor(Math.log10(least)) : 1;
  return (share * 100).toFixed(places).replace(/\.0$/, "") + "%";
}
const level = percent(facts.level);
const whole = (number) => Math.round(number).toLocaleString("en-US");
const isNumber = (value) => typeof value === "number";
function decimals(value, places = facts.metric.places) {
  if (!isNumber(value)) return "–";
  return Math.abs(value) >= 1000 ? whole(value) : value.toFixed(places);
}
function short(value) { return String(parseFloat(value.toPrecision(4))); }
// A column of whole numbers, as Python packed it.
function unpacked({ bytes, data }) {
  const text = atob(data), raw = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) raw[i] = text.charCodeAt(i);
  return new { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array, 8: Float64Array }[bytes](raw.buffer);
}
