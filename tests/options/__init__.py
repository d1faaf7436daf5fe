"""Tests of options: descriptions, keywords, and what is made from them."""
