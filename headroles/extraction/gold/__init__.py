"""Gold annotation from files: trees, mentions and words, each layout by a module of its own."""
