"""Valid inputs of every parser, and the functions that read them."""

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Parser:
    """A reader of files, and valid files to begin with.

    Attributes:
        name: Its name in the figures.
        file: Name of the file that it reads.
        seeds: Contents of valid files.
        read: Reads the file at a path.
        cost: Roughly how many of the fastest parsers' inputs take the time of one of its inputs.
    """

    name: str
    file: str
    seeds: tuple[bytes, ...]
    read: Callable[[Path], Any]
    cost: int = 1


CONLLU = """# newdoc id = GUM_x
# sent_id = 1
# text = Ann's dog sat.
1-2\tAnn's\t_\t_\t_\t_\t_\t_\t_\t_
1\tAnn\tAnn\tPROPN\tNNP\tNumber=Sing\t3\tnmod:poss\t3:nmod\tEntity=(1-person-new-cf1-1-coref(2-person)|SpaceAfter=No
2\t's\t's\tPART\tPOS\t_\t1\tcase\t_\tEntity=2)
3\tdog\tdog\tNOUN\tNN\t_\t4\tnsubj\t_\tEntity=1)
4\tsat\tsit\tVERB\tVBD\t_\t0\troot\t_\tSpaceAfter=No
4.1\tsat\tsit\tVERB\tVBD\t_\t_\t_\t0:root\t_
5\t.\t.\tPUNCT\t.\t_\t4\tpunct\t_\t_

# newpar
1\tIt\tit\tPRON\tPRP\t_\t2\tnsubj\t_\tEntity=(1-animal)
2\trains\train\tVERB\tVBZ\t_\t0\troot\t_\t_

"""
CONLL2012 = """#begin document (nw/a(1)); part 000
nw/a   0   0   Ann   NNP   *   -   -   -   Ann   *   (3)
nw/a   0   1   left   VBD   *   -   -   -   Ann   *   -

nw/a   0   0   Her   PRP$   *   -   -   -   Ann   *   (4|(3)
nw/a   0   1   dog   NN   *   -   -   -   Ann   *   4)

#end document
#begin document (book); part 1
book\t0\t0\tYes\t_\t_\t_\t_\t_\t_\t_\t_\t_
#end document
"""
GAP = """ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL
v-1\tAnn's aunt "Bo" said she won.\tshe\t21\tAnn\t0\tFALSE\tBo\t12\tTRUE\thttp://x
v-2\tAnn met Bo, and he ran.\the\t16\tAnn\t0\tTRUE\tBo\t8\tFALSE\thttp://y
"""
WINOBIAS = """1 [The cook] fed the construction worker because [he] was kind.
17 The cook fed [the construction worker] and told [ her] to rest by [her] stove.
"""
WORDS = "The 2-det\ncat 3-nsubj\nsat 0-root\n\nYes 0-root-like\nno 1-x\n"
GOLD = """{"key": "a", "words": ["The", "cat"], "heads": [2, 0], "relations": ["det", "root"], "group": "g"}
{"text": "It rains.", "spans": [[0, 2], [3, 8], [8, 9]], "words": ["It", "rains", "."], "sentences": [0]}
{"words": ["Ann", "saw", "her"], "tags": ["NNP", "VBD", "PRP"], "mentions": [[0, 1, "1"], [2, 3, "1"]]}
"""
TSV = 'question\tsentence\tdocument\nwho did ?\tthe "cat" sat .\td0\na\tb\t\n'
CSV = 'question,sentence,document\n"who, did ?","the ""cat"" sat",d0\na,"b\nc",\n'
TABLE_LINES = """{"question": "who ?", "sentence": "the cat \\u00e9", "document": 3, "more": [1, {"a": null}]}
{"question": "a", "sentence": "b", "document": null}
"""
RUNNING = " = Title = \n\n A paragraph of words .\n Another line .\n"
RUNNING += "\n = = Section = = \n\n More , here .\n\n\nPlain text.\n"
TEXTS = """{"text": "It rains .", "id": 1}
{"text": ["who ?", "the cat"], "tags": ["a"]}
{"words": ["the", "cat", "sat"], "heads": [2, 3, 0], "relations": ["det", "nsubj", "root"]}
{"tokens": ["[CLS]", "the", "cat", "[SEP]", "sat", "[SEP]"]}
"""
VECTORS = "2 3\nthe 0.1 -0.2 3e-4\ncat 1 2 3\n"
PLAIN_VECTORS = "the 0.1 -0.2 3e-4\nThe 1 2 3\nCat -1 .5 7\n"
FIRST = {
    "tokens": ["[CLS]", "the", "cat", "[SEP]"], "attns": "0", "segment": [-1, 0, 0, -1],
    "word": [-1, 0, 1, -1],
    "texts": ["the cat"], "spans": [[0, 0], [0, 3], [4, 7], [0, 0]], "first": [0], "heads": [2, 0],
    "relations": ["det", "root"], "key": "k", "group": 4,
    "visible": [[None, 0], [[0, 0], [0, 1], [0, 2], [0, 3]]],
}  # fmt: skip
MODEL = {"name": "m", "architecture": "BertModel", "layers": 2, "heads": 3}
LIST = {"headroles": "0.1.0", "model": MODEL, "word_level": False, "precision": "float32", "sinks": False}
MAP_LIST = json.dumps(LIST | {"examples": [FIRST, {"tokens": ["it", "rains", "."]}]}, indent=1)


def _attention(layers: int, heads: int, *sizes: int) -> dict[str, np.ndarray]:
    """Return attention that looks back, of inputs of some sizes."""
    chance = np.random.default_rng(0)
    maps = {}
    for number, size in enumerate(sizes):
        weights = np.tril(chance.random((layers, heads, size, size)))
        maps[str(number)] = (weights / weights.sum(-1, keepdims=True)).astype(np.float32)
    return maps


def _packed(maps: dict[str, np.ndarray]) -> bytes:
    """Return maps as npz."""
    stored = io.BytesIO()
    np.savez(stored, **maps)  # type: ignore[arg-type]
    return stored.getvalue()


def _gold(layout: str | None) -> Callable[[Path], Any]:
    def read(path: Path) -> Any:
        from headroles.extraction import read_documents

        return read_documents(path, "x", layout)

    return read


def _table(path: Path) -> Any:
    from headroles.extraction import read_file

    columns = None if path.suffix == ".conllu" else ("question", "sentence")
    return read_file(path, columns, None if columns is None else "document", "x")


def _vectors(path: Path) -> Any:
    from headroles.extraction import read_vectors

    return read_vectors(path), read_vectors(path, {"the"})


def _objects(path: Path) -> Any:
    from headroles.inputs import has_trees, stream_objects

    return list(stream_objects([path], None, "x", has_trees(path)))


def _listed(lines: str) -> str:
    """Return JSON lines as one list."""
    return "[" + ",\n".join(lines.splitlines()) + "]"


def _map_list(path: Path) -> Any:
    import headroles

    maps = path.with_suffix(".npz")
    maps.write_bytes(_packed(_attention(2, 3, 4, 3)))
    return headroles.label(attention=maps, sieve=["local"])


def _map_file(path: Path) -> Any:
    import headroles

    path.with_suffix(".json").write_text(json.dumps([{"tokens": ["a", "b", "c"]}, {"tokens": ["d", "e"]}]))
    return headroles.label(attention=path, sieve=["local"])


def parsers(work: Path) -> tuple[Parser, ...]:
    """Return every parser of files.

    Args:
        work: Folder with ``inputs/model``, whose tokenizer is used, and ``finished/label/run``.
    """
    from safetensors.numpy import save

    model, maps = work / "inputs" / "model", _attention(1, 2, 3, 2)

    @cache
    def tokenizer() -> Any:
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(model)

    def texts(path: Path) -> Any:
        from headroles.extraction import map_inputs, read_rows

        return map_inputs(tokenizer(), read_rows(path), str(path))

    def running(path: Path) -> Any:
        import headroles

        return headroles.preprocess_unlabeled(path, out="u.jsonl", model=model, max_length=16, overwrite=True)

    def run(path: Path) -> Any:
        import headroles

        return headroles.load(path.parent)

    manifest = (work / "finished" / "label" / "run" / "manifest.json").read_bytes()
    gold = {
        "conllu": ("x.conllu", CONLLU),
        "conll2012": ("x.conll", CONLL2012),
        "gap": ("x.tsv", GAP),
        "winobias": ("x.txt", WINOBIAS),
        "words": ("x.txt", WORDS),
        "jsonl": ("x.jsonl", GOLD),
    }
    tables = {"x.tsv": TSV, "x.csv": CSV, "x.jsonl": TABLE_LINES, "x.conllu": CONLLU}
    tables |= {"x.json": _listed(TABLE_LINES)}
    return (
        *(Parser(f"gold {name}", file, (text.encode(),), _gold(name)) for name, (file, text) in gold.items()),
        Parser("gold, detected", "x.txt", tuple(text.encode() for _, text in gold.values()), _gold(None)),
        Parser("gold, a list", "x.json", (_listed(GOLD).encode(),), _gold(None)),
        *(Parser(f"table {file}", file, (text.encode(),), _table) for file, text in tables.items()),
        Parser("objects", "x.json", tuple(text.encode() for text in (TEXTS, _listed(TEXTS), GOLD)), _objects),
        Parser("running text", "x.txt", (RUNNING.encode(), WORDS.encode(), WINOBIAS.encode()), running, 8),
        Parser("texts of extract", "x.json", (TEXTS.encode(), _listed(TEXTS).encode()), texts, 3),
        Parser("word vectors", "x.txt", (VECTORS.encode(), PLAIN_VECTORS.encode()), _vectors),
        Parser("list of maps", "x.json", (MAP_LIST.encode(),), _map_list, 40),
        Parser("maps npz", "x.npz", (_packed(maps),), _map_file, 40),
        Parser("maps safetensors", "x.safetensors", (save(maps),), _map_file, 40),
        Parser("manifest", "run/manifest.json", (manifest,), run, 40),
    )
