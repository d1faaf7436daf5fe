"""What judges scores: the rule of each column, and the decision of a run over all columns.

Options and messages about options need these records before any array exists. So nothing here imports numpy.
"""
