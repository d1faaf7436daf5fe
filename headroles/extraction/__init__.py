"""From texts and a checkpoint to scores: the only part of headroles that imports torch."""
