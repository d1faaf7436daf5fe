"""Tables of cases, written as text."""


def table(text: str) -> list[tuple[str, ...]]:
    r"""Return the rows of a table with bars between cells; empty lines and lines after # are left out.

    Example:
        >>> table('''
        ... # words   | sentence
        ... label     | a run needs inputs
        ... ''')
        [('label', 'a run needs inputs')]
    """
    lines = [line.strip() for line in text.splitlines()]
    return [tuple(cell.strip() for cell in line.split("|")) for line in lines if line and line[0] != "#"]
