/* Verdicts stand in place of the decisions of the tests; downloads of findings keep those. */
const rowOf = (role, cell) => role.sieve * perSieve + cell;
const testedCodes = decisions.slice();
/* A digit per head for the verdicts of a column. */
function showVerdicts(shown) {
  for (const { column: sieve, codes } of shown) [...codes].forEach((code, cell) => { decisions[sieve * perSieve + cell] = Number(code); });
}
/* Files of decisions hold those of the tests, not the verdicts that the page shows. */
function keepTested() {
  const verdictCodes = decisions.slice();
  for (const name of ["findings.csv", "labels.csv"]) {
    const write = FILES[name];
    FILES[name] = () => {
      decisions.set(testedCodes);
      try {
        return write();
      } finally {
        decisions.set(verdictCodes);
      }
    };
  }
}
