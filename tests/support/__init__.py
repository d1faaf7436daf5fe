"""Made-up runs, tiny models and servers that tests share."""
