keepTested();

/* A map of verdicts per arm, one of the damage itself, and one per role with the verdicts of the heads that hold it. */
const mainColumn = ablation.arms[0].column;
const damageRows = Array.from({ length: perSieve }, (_, cell) => columns.mean[mainColumn * perSieve + cell]).filter((mean) => !Number.isNaN(mean));
const damageMap = {
  sieve: mainColumn, name: "damage", title: "Damage", shown: true, shaded: true, largest: Math.max(...damageRows),
  note: damageRows.length ? `${shortNumber(Math.min(...damageRows))} to ${shortNumber(Math.max(...damageRows))}` : "",
};
const verdictMaps = ablation.arms.map(({ column: sieve, name, map, note }, number) => ({
  sieve, name, note, title: map, shown: number === 0,
}));
const roleMaps = ablation.roles.map(({ name, title, note, heads }) => ({
  sieve: mainColumn, name, title, note, heads: new Set(heads), shown: true,
}));
const [firstMap, ...otherMaps] = verdictMaps;
const ablationMaps = [firstMap, damageMap, ...roleMaps, ...otherMaps];
const damageText = (row) => {
  const [mean, low, high] = ["mean", ...ENDS].map((name) => cellText(name, row));
  const unit = ablation.units[placeOf(row).sieve];
  return `${low === "–" ? mean : `${mean} [${low}, ${high}]`}${unit && mean !== "–" ? ` ${unit}` : ""}`;
};

function verdictLook(code) {
  return { shade: code === 3 ? 0 : 1, kind: ablation.verdicts[code], mark: ablation.marks[code], open: code === 2 };
}

const ablationDescription = {
  look(map, cell) {
    const row = map.sieve * perSieve + cell;
    if (map.shaded) return { shade: columns.mean[row] > 0 ? columns.mean[row] / map.largest : 0 };
    if (map.heads && !map.heads.has(cell)) return { shade: 0 };
    return verdictLook(decisions[row]);
  },
  lines(map, cell) {
    const row = map.sieve * perSieve + cell;
    const verdict = ablation.verdicts[decisions[row]];
    const role = map.heads ? (map.heads.has(cell) ? "; holds the role" : "; does not hold the role") : "";
    return [`${headName(cell)} · ${map.title}`, `damage ${damageText(row)}`, `${verdict}${role}`];
  },
};
const openAblatedHead = headPanel((cell) => [
  ...ablation.arms.map(({ column: sieve, title }) => {
    const row = sieve * perSieve + cell;
    return { name: title, value: damageText(row), decision: ablation.verdicts[decisions[row]], held: decisions[row] === 0 };
  }),
  ...ablation.roles.map(({ title, heads, score }) => ({
    name: `score: ${title}`, value: score[cell] === null ? "–" : score[cell].toFixed(3), decision: heads.includes(cell) ? "role" : "–", held: heads.includes(cell),
  })),
  ...findings.sieves.flatMap((name, sieve) => {
    const row = sieve * perSieve + cell;
    const arm = ablation.arms.some(({ column: own }) => own === sieve);
    return arm || Number.isNaN(columns.mean[row]) ? [] : [{ name: ablation.columns[sieve], value: damageText(row), decision: "–", held: false }];
  }),
], (cell) => ablation.sentences[cell] ?? "Damage with its 95 % interval, and the verdict.");
headMaps(document.getElementById("ablation-maps"), ablationMaps, ablationDescription, openAblatedHead);

/* The table begins with the arm of the answer; a sentence about a role lists the verdicts of that arm. */
const showMain = () => filterTable({ sieve: ablation.arms[0].name });
document.addEventListener("filter", ({ detail }) => {
  if (!detail || ablation.roles.some(({ name }) => name === detail.sieve)) showMain();
});
showMain();
