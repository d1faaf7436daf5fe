/* Heads in words: what a decision is called, and three lines beside the cell under the pointer or in focus. */
const rowOf = (role, cell) => role.sieve * perSieve + cell;
const WORDS = ["role", "not", "undetermined", "untestable", "explained", "contrast"];
for (const role of findings.roles) {
  role.strong = new Set(role.strong);
  role.absent = new Set(role.absent);
}

function heading(element, scope) {
  element.scope = scope;
  return element;
}

/* The decision about a head in words, with what a contrast controls for. */
function verdictWords(role, cell) {
  const code = decisions[rowOf(role, cell)];
  if (code === 0 && role.stronger) return `role${role.strong.has(cell) ? `, beyond ${role.stronger}` : `, beyond ${role.control} only`}`;
  if (code === 1 && role.absent.has(cell)) return "not, absent";
  return code === 4 ? role.verdict : WORDS[code];
}

/* How far the mean of a head lies beyond chance; the largest such number of every role, and of all. */
const beyondChance = (role, cell) => columns.mean[rowOf(role, cell)] - (columns.null[rowOf(role, cell)] || 0);
const peaks = findings.roles.map((role) => {
  let most = 0;
  for (let cell = 0; cell < perSieve; cell += 1) if (beyondChance(role, cell) > most) most = beyondChance(role, cell);
  return most;
});
const peak = Math.max(0, ...peaks);
/* Scores of the calibrated kind share one scale; others have a scale per role. */
const oneScale = peak <= 1;
const partOf = (number, cell) => {
  const most = oneScale ? peak : peaks[number];
  return most > 0 ? Math.max(0, beyondChance(findings.roles[number], cell)) / most || 0 : 0;
};
/* Whether a head holds a part of a role: the mark of the part stands for both. */
const isWhole = (role, cell) => role.parts.some((part) => decisions[rowOf(findings.roles[part], cell)] === 0);

/* Role and head, mean with interval, decision. */
function linesOf(role, cell) {
  const row = rowOf(role, cell);
  const [mean, low, high] = ["mean", ...ENDS].map((name) => cellText(name, row));
  return [`${headName(cell)} · ${role.title}`, mean === "–" ? "no score" : `mean ${mean} [${low}, ${high}]`, verdictWords(role, cell)];
}

const tip = (() => {
  const element = document.getElementById("tip");
  const AWAY = 10;

  /* To the right of the cell, else to its left, else below it: never over it. */
  function show(box, lines) {
    element.replaceChildren(...lines.map((line) => createIsolated("p", line)));
    element.hidden = false;
    const [width, height] = [element.offsetWidth, element.offsetHeight];
    const middle = Math.min(Math.max(8, (box.top + box.bottom - height) / 2), innerHeight - height - 8);
    const fits = (left) => left >= 8 && left + width <= innerWidth - 8;
    const left = [box.right + AWAY, box.left - width - AWAY].find(fits);
    element.style.left = `${left ?? Math.max(8, Math.min(box.left, innerWidth - width - 8))}px`;
    element.style.top = `${left === undefined ? (box.bottom + AWAY + height < innerHeight ? box.bottom + AWAY : box.top - height - AWAY) : middle}px`;
  }

  function hide() {
    element.hidden = true;
  }

  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  addEventListener("scroll", hide, { passive: true });
  return { show, hide };
})();

/* Heads that the filter of the answer asks for; null for all. */
function headsOf(asked) {
  if (!asked) return null;
  const codes = (role) => decisions.subarray(rowOf(role, 0), rowOf(role, 0) + perSieve);
  const anyOf = (roles, cell) => roles.some((role) => decisions[rowOf(role, cell)] === 0);
  const every = Array.from({ length: perSieve }, (_, cell) => cell);
  if (asked.decision === "none") return new Set(every.filter((cell) => !anyOf(findings.roles, cell)));
  const role = findings.roles.find((other) => findings.sieves[other.sieve] === asked.sieve);
  if (!role) return null;
  const inside = findings.roles.filter((other) => other.family === role.family);
  const outside = findings.roles.filter((other) => other.family !== role.family);
  if (asked.decision === "family") return new Set(every.filter((cell) => anyOf(inside, cell)));
  if (asked.decision === "only") return new Set(every.filter((cell) => anyOf(inside, cell) && !anyOf(outside, cell)));
  const code = WORDS.indexOf(asked.decision);
  return new Set(every.filter((cell) => codes(role)[cell] === code));
}
