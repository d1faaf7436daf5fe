/* Verdicts stand in place of the decisions of the tests; downloads of findings keep those. */
const ablation = read("ablation");
const WORDS = [...ablation.verdicts, "not tested"];
const rowOf = (role, cell) => role.sieve * perSieve + cell;
const testedCodes = decisions.slice();
for (const { column: sieve, codes } of ablation.arms) {
  [...codes].forEach((code, cell) => { decisions[sieve * perSieve + cell] = Number(code); });
}
const verdictCodes = decisions.slice();

/* Damages can be far below a thousandth: three digits then show what three decimals would not. */
for (const name of ["mean", "null", "low", "high", "margin", ...ENDS]) delete DECIMALS[name];
