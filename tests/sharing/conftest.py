"""A stand-in of the hub on this machine: it takes data sets, and keeps what it got."""

import base64
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

TOKEN = "hf_madeUpForTests"


@dataclass
class Hub:
    """What the stand-in holds.

    Attributes:
        url: Its address.
        repositories: Files by data set.
        private: Data sets that were made private.
    """

    url: str = ""
    repositories: dict[str, dict[str, bytes]] = field(default_factory=dict)
    private: set[str] = field(default_factory=set)


def _app(hub: Hub) -> Any:
    """Return the routes of the hub that an upload of a data set needs."""
    from flask import Flask, Response, jsonify, request

    app = Flask("hub")

    @app.before_request
    def log_in() -> Any:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return jsonify(error="Invalid credentials"), 401
        return None

    @app.post("/api/repos/create")
    def create() -> Any:
        asked = request.get_json()
        name = f"{asked.get('organization') or 'user'}/{asked['name']}"
        if name.startswith("others/"):
            return jsonify(error="You don't have the rights"), 403
        if asked["type"] != "dataset" or name in hub.repositories:
            return jsonify(
                error="You already created this dataset repo", url=f"{hub.url}/datasets/{name}"
            ), 409
        hub.repositories[name] = {}
        if asked.get("visibility") == "private" or asked.get("private"):
            hub.private.add(name)
        return jsonify(url=f"{hub.url}/datasets/{name}", name=name)

    @app.post("/api/validate-yaml")
    def validate() -> Any:
        _, header, _ = request.get_json()["content"].split("---\n", 2)
        valid = isinstance(yaml.safe_load(header), dict)
        return jsonify(
            warnings=[], errors=[] if valid else [{"message": "no mapping"}]
        ), 200 if valid else 400

    @app.post("/api/datasets/<user>/<name>/preupload/main")
    def modes(user: str, name: str) -> Any:
        files = request.get_json()["files"]
        return jsonify(
            files=[{"path": file["path"], "uploadMode": "regular", "shouldIgnore": False} for file in files]
        )

    @app.get("/api/datasets/<user>/<name>")
    @app.get("/api/datasets/<user>/<name>/revision/main")
    def about(user: str, name: str) -> Any:
        files = [{"rfilename": path} for path in hub.repositories[f"{user}/{name}"]]
        return jsonify(id=f"{user}/{name}", sha="0" * 40, siblings=files, private=False, tags=[])

    @app.get("/api/datasets/<user>/<name>/tree/main")
    def tree(user: str, name: str) -> Any:
        files = hub.repositories[f"{user}/{name}"].items()
        return jsonify(
            [{"type": "file", "path": path, "size": len(data), "oid": "0" * 40} for path, data in files]
        )

    @app.post("/api/datasets/<user>/<name>/commit/main")
    def commit(user: str, name: str) -> Any:
        files = hub.repositories[f"{user}/{name}"]
        for line in request.get_data().splitlines():
            change = json.loads(line)
            if change["key"] == "deletedFile":
                files.pop(change["value"]["path"])
            if change["key"] == "file":
                files[change["value"]["path"]] = base64.b64decode(change["value"]["content"])
        address = f"{hub.url}/datasets/{user}/{name}/commit/{'0' * 40}"
        return jsonify(
            success=True, commitOid="0" * 40, commitUrl=address, hookOutput="", pullRequestUrl=None
        )

    @app.errorhandler(404)
    def missing(error: Exception) -> Any:
        return Response(status=404)

    return app


SENTENCES = (("The", "old", "dog", "saw", "it", "."), ("A", "big", "cat", "ate", "fish", "."))
TREE = ((3, "det"), (3, "amod"), (4, "nsubj"), (0, "root"), (4, "obj"), (4, "punct"))


def _treebank() -> str:
    """Return 24 documents of two sentences in CoNLL-U."""
    blocks = []
    for number in range(24):
        blocks.append(f"# newdoc id = d{number}\n")
        for words in SENTENCES:
            rows = zip(words, TREE, strict=True)
            blocks[-1] += "".join(
                f"{place}\t{word}{number}\t_\tX\t_\t_\t{head}\t{relation}\t_\t_\n"
                for place, (word, (head, relation)) in enumerate(rows, start=1)
            )
            blocks[-1] += "\n"
    return "".join(blocks)


@pytest.fixture(scope="session")
def runs(planted: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of a run of every kind, by its name."""
    import headroles

    desk = tmp_path_factory.mktemp("kinds")
    (desk / "dev.conllu").write_text(_treebank())
    given: dict[str, Any] = {"model": str(planted), "max_length": 64}
    headroles.label("QNLI", sieve="local", limit=8, out=str(desk / "label"), **given)
    headroles.cluster("QNLI", sieve="local", limit=8, draws=20, out=str(desk / "cluster"), **given)
    headroles.surface("QNLI", limit=8, out=str(desk / "surface"), **given)
    headroles.probe("dependency", data=str(desk / "dev.conllu"), out=str(desk / "probe"), **given)
    headroles.ablate("QNLI", limit=8, out=str(desk / "ablate"), **given)
    headroles.why(str(desk / "label"), rotations=99, out=str(desk / "why"))
    return {name: desk / name for name in ("label", "cluster", "surface", "probe", "ablate", "why")}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub of this machine, which the library finds, with a token that may write to ``user/…``."""
    import huggingface_hub
    from werkzeug.serving import make_server

    held = Hub()
    server = make_server("127.0.0.1", 0, _app(held), threaded=True)
    held.url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", held.url)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    huggingface_hub.close_session()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield held
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        huggingface_hub.close_session()
