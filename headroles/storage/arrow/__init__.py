"""Tables of Arrow: arrays from numpy and back in ``arrays.py``, Parquet files of them in ``files.py``.

They may import nothing of this project. Start with ``arrays.py``.
"""
