"""Plans of long examples, in which no array has a cell for each pair of tokens.

``plan`` lays mask sieves and ``contrast`` lays contrasts; ``cells`` finds the cheapest form of masks, and
``words`` turns masks over words into masks over tokens. It may import what ``sieves.weights`` may. Start at
``plan``.
"""
