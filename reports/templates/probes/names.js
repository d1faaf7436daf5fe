/* Names that the table of all findings needs in a run without a matrix of roles. */
const probeNames = read("probe-names");
const WORDS = [...probeNames.decided, "contrast"];
const rowOf = (role, cell) => role.sieve * perSieve + cell;
