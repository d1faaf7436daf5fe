"""Attention of fake heads that know no texts or no syntax, and of oracles that do, on real layouts and trees."""
