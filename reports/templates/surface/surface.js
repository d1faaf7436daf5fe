/* Names that the table of all findings needs in a run without a matrix of roles. */
const surface = read("surface-layers");
const WORDS = surface.decided;
const rowOf = (role, cell) => role.sieve * perSieve + cell;
/* Importances can be far below a thousandth: three digits then show what three decimals would not. */
if (surface.fine.some(Boolean)) for (const name of ["mean", "null", "low", "high", ...ENDS]) delete DECIMALS[name];
