"""Attention of fake heads that know no texts or no syntax, and of oracles that know them."""
