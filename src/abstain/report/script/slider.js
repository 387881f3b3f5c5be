// The slider, and what follows it.
const DRAWN = [drawCurve, drawRoc, drawHistogram, drawConfusion, drawCost, drawProportions, drawGroups, drawAlternatives];
function show(number) {
  state.step = number;
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
  for (const draw of DRAWN) draw(step);
  findCases();
  markScrolling();
}

const input = byId("budget");
input.max = String(steps.length - 1);
input.addEventListener("input", () => show(Number(input.value)));
byId("reset").addEventListener("click", () => { show(facts.chosen); input.focus(); });
// Charts are as wide as their places, which change with the window.
let drawnAt = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === drawnAt) return;
  drawnAt = window.innerWidth;
  for (const draw of DRAWN) draw(steps[state.step]);
  drawTrust();
  markScrolling();
});
setText("card-before", decimals(facts.before.value));
setText("card-before-interval", `${level} interval ${decimals(facts.before.interval[0])} to ${decimals(facts.before.interval[1])}`);
if (facts.rows_drawn < facts.rows_scored) {
  setText("drawn", `The curves and tables are drawn from ${whole(facts.rows_drawn)} cases picked at random; counts and rates are of all ${whole(facts.rows)}.`);
}
buildCostInputs();
buildGroups();
buildCases();
cut(byId("shares"), "classes");
show(facts.chosen);
drawTrust();
