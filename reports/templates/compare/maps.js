/* A map of differences per role, and the panel of a head. */
const heldIn = findings.held.map((text) => bytes(text));
const OUTCOME_MARKS = ["●", "", "", "×"];
const three = (value) => (Number.isNaN(value) ? "–" : value.toFixed(3).replace("-", "−"));
const moveOf = (row) => (heldIn[1][row] > heldIn[0][row] ? "+" : heldIn[0][row] > heldIn[1][row] ? "−" : "");
const isRole = new Set(findings.roles);
const compareMaps = findings.sieves.map((name, sieve) => {
  const rows = Array.from({ length: perSieve }, (_, cell) => sieve * perSieve + cell);
  const sizes = rows.map((row) => Math.abs(columns.difference[row])).filter((size) => !Number.isNaN(size));
  const changed = rows.filter((row) => decisions[row] === 0).length;
  return { sieve, name, title: findings.titles[sieve], shown: isRole.has(sieve), note: `${changed} changed`, largest: Math.max(findings.bound, ...sizes) };
});
const differenceText = (row) => {
  const [difference, low, high] = ["difference", "low", "high"].map((name) => three(columns[name][row]));
  return low === "–" ? difference : `${difference} [${low}, ${high}]`;
};
const compareDescription = {
  look: ({ sieve, largest }, cell) => {
    const row = sieve * perSieve + cell;
    const difference = columns.difference[row];
    return {
      shade: Math.abs(difference) > 0 ? Math.abs(difference) / largest : 0, kind: difference > 0 ? "up" : "down",
      held: decisions[row] === 0, open: decisions[row] === 2, mark: isRole.has(sieve) && moveOf(row) ? moveOf(row) : OUTCOME_MARKS[decisions[row]],
    };
  },
  lines: ({ sieve, title }, cell) => {
    const row = sieve * perSieve + cell;
    const moved = isRole.has(sieve) && moveOf(row) ? `, role ${moveOf(row) === "+" ? "gained" : "lost"}` : "";
    return [
      `${headName(cell)} · ${title}`, `A ${three(columns.mean_a[row])}, B ${three(columns.mean_b[row])}; difference ${differenceText(row)}`,
      `${WORDS[decisions[row]]}${moved}`,
    ];
  },
};
const openComparedHead = headPanel((cell) => compareMaps.map(({ sieve, name, title }) => {
  const row = sieve * perSieve + cell;
  const value = `A ${three(columns.mean_a[row])}, B ${three(columns.mean_b[row])}; ${differenceText(row)}`;
  return { name: title === name ? name : `${title} (${name})`, value, decision: WORDS[decisions[row]], held: decisions[row] === 0 };
}), () => "Means of A and B, and their difference with its 95 % interval.");
headMaps(document.getElementById("compare-maps"), compareMaps, compareDescription, openComparedHead);
