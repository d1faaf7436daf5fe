"""Word vectors are read from GloVe's layout, and what is wrong with a file is said with its line."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from headroles.errors import BadInput
from headroles.extraction.parsing.vectors import read_vectors


def _file(folder: Path, text: str) -> Path:
    path = folder / "vectors.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_words_find_their_numbers_in_lower_case(tmp_path: Path) -> None:
    vectors = read_vectors(_file(tmp_path, "the 1 2.5\n, -1e-2 3\nThe 7 7\n"))
    assert vectors.size == 2
    np.testing.assert_array_equal(vectors.table, np.array([[1, 2.5], [-0.01, 3]], dtype=np.float32))
    assert vectors.rows(("THE", ",", "unknown")).tolist() == [0, 1, 2]


def test_only_wanted_words_are_kept(tmp_path: Path) -> None:
    vectors = read_vectors(_file(tmp_path, "a 1 2\nb 3 4\nc 5 6\n"), {"c", "z"})
    assert vectors.table.tolist() == [[5, 6]]
    assert vectors.rows(("a", "c")).tolist() == [1, 0]
    assert read_vectors(_file(tmp_path, "a 1 2\n"), set()).table.shape == (0, 2)


def test_a_header_of_word2vec_and_blanks_at_line_ends_are_passed_over(tmp_path: Path) -> None:
    vectors = read_vectors(_file(tmp_path, "2 3\na 1 2 3 \r\nb 4 5 6\r\n\r\n"))
    assert vectors.table.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_a_gzipped_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt.gz"
    path.write_bytes(gzip.compress(b"a 1 2\n"))
    assert read_vectors(path).table.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "a 1 2\nb 3\n",
            r"line 2: every word has as many numbers as the first line \(2, .* 1 after 'b'",
        ),
        ("2 3\na 1 2\n", r"line 2: .*\(3, .* 2 after 'a'"),
        ("a\n", "line 1: every word has as many numbers"),
        ("a 1 2\nb 3 x\n", "line 2: a word is followed by finite numbers such as 0.25, but got 'x'"),
        ("a 1 nan\n", "line 1: .* got 'nan'"),
        ("a 1 1e400\n", "line 1: .* got '1e400'"),
        ("a 1 1e39\n", "line 1: .* got '1e39'"),
        ("a  1 2\n", "line 1: .* got ''"),
        ("2 3\n", "holds at least one word and its numbers, but .* has none"),
        ("\n", "is empty"),
    ],
)
def test_a_malformed_file_gives_one_sentence_with_the_line(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=said) as caught:
        read_vectors(_file(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_the_reference_vectors_are_read_whole(shared: Path) -> None:
    vectors = read_vectors(shared / "data" / "glove" / "glove.6B.50d.2987.txt.gz")
    assert vectors.table.shape == (2987, 50)
    king, queen = vectors.table[vectors.rows(("king", "queen"))]
    assert king @ queen / np.linalg.norm(king) / np.linalg.norm(queen) == pytest.approx(0.78, abs=0.01)
