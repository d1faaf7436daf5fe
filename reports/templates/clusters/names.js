/* Names that the table of all findings needs in a run without a matrix of roles. */
const WORDS = ["role", "not", "undetermined", "untestable", "explained", "contrast"];
const rowOf = (role, cell) => role.sieve * perSieve + cell;
