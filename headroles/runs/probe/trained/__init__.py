"""Classifiers trained to find head words in attention: data, models, training, and controls.

``run.py`` holds ``train_probes``; ``course.py`` runs one training after another, ``models.py`` holds the
classifiers, ``training.py`` fits them, and ``accuracy.py`` compares them. These modules may import torch,
``extraction``, ``stats`` and ``records``. Start with ``run.py``.
"""
