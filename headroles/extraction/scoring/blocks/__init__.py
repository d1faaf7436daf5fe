"""The engine for long inputs and cross attention: blocks of rows are summed up, and nothing is held whole.

``sums`` takes the linear sums and asks scorers. ``contrasts`` takes the sums of distance profiles. On a CPU
``offsets`` adds up the cells of a block by offset, with keys as ``offset_keys`` lays them out. Elsewhere, and
where pairs have a scope, ``units`` joins tokens to words and ``diagonals`` sums by offset. No array
has a cell for each pair of tokens. The package may import capture, plans and the files of ``scoring`` above
it. Start at ``sums``.
"""
