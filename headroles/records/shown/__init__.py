"""How results show themselves in notebooks: as tables in HTML, and a run by a line that changes in place."""
