/* The verdicts of the arms. */
const ablation = read("ablation");
const WORDS = [...ablation.verdicts, "not tested"];
showVerdicts(ablation.arms);

/* Damages can be far below a thousandth: three digits then show what three decimals would not. */
for (const name of ["mean", "null", "low", "high", "margin", ...ENDS]) delete DECIMALS[name];
