"""Tutorials as pages: percent notebooks, executed when the site is built.

``docs/tutorials/NAME.py`` becomes the page ``tutorials/NAME.md``: its text, its code, and what the code
printed or showed. Links name either file. An error in a cell fails the build. A notebook runs in an empty
folder that holds a link to ``examples/``, as a clone does.
"""

import logging
import re
import shutil
from pathlib import Path, PurePosixPath
from posixpath import normpath
from tempfile import TemporaryDirectory
from typing import Any

import jupytext
import nbformat
from cache import KEPT, ROOT, executed, kept
from jupyter_client.manager import AsyncKernelManager
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

LOG = logging.getLogger("mkdocs.hooks.tutorials")
HIDDEN = "remove_cell"
"""Tag of cells that run and are not shown."""
PREPARE = """
import os
import sys
import warnings

os.environ |= {"TQDM_DISABLE": "1", "TRANSFORMERS_VERBOSITY": "error"}
os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
warnings.filterwarnings("ignore", message="IProgress not found")
get_ipython().display_pub.register_hook(
    lambda message: None if message["content"].get("transient") else message
)
"""
"""First cell of every notebook: commands of this environment, and no bars with times, which change."""
LIMIT = 1200
"""Most seconds of one cell."""
PICTURES = {"image/png": "data:image/png;base64,{}", "image/jpeg": "data:image/jpeg;base64,{}"}
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
LINK = re.compile(r"\]\(([\w./-]+)\.py((?:#[\w-]*)?)\)")
"""A link to a notebook in Markdown."""
_shown: dict[str, list[str]] = {}
"""HTML of outputs, by the address of the source of their page."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Put a page in the place of every notebook."""
    for file in [file for file in files if re.fullmatch(r"tutorials/[\w-]+\.py", file.src_uri)]:
        path = Path(str(file.abs_src_path))
        files.remove(file)
        address = file.src_uri.removesuffix(".py") + ".md"
        text, _shown[address] = page_of(notebook_of(path))
        files.append(File.generated(config, address, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links that name a notebook lead to its page."""
    folder = PurePosixPath(page.file.src_uri).parent

    def to_page(link: re.Match[str]) -> str:
        address = normpath(folder / link[1]) + ".md"
        return f"]({link[1]}.md{link[2]})" if address in _shown else link[0]

    return LINK.sub(to_page, markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put what the code showed in its place; Markdown would change it."""
    for number, shown in enumerate(_shown.get(page.file.src_uri, [])):
        html = html.replace(_place(number), f'<div class="shown" data-search-exclude>{shown}</div>')
    return html


def notebook_of(path: Path) -> nbformat.NotebookNode:
    """Return a notebook with its outputs, executed unless this state of the code already did.

    Raises:
        PluginError: When a cell fails.
    """
    notebook = jupytext.read(path)
    if not executed():
        return notebook
    folder = kept(path.stem, path.read_bytes())
    if (folder / "notebook.ipynb").exists():
        return nbformat.read(folder / "notebook.ipynb", as_version=4)
    LOG.info("Executing %s", path.name)
    work = KEPT / "work" / path.stem
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (work / "examples").symlink_to(ROOT / "examples")
    notebook.cells.insert(0, nbformat.v4.new_code_cell(PREPARE, metadata={"tags": [HIDDEN]}))
    try:
        execute(notebook, work)
    except CellExecutionError as error:
        said = ESCAPES.sub("", str(error))
        raise PluginError(f"a cell of docs/tutorials/{path.name} failed:\n{said}") from error
    folder.mkdir(parents=True)
    nbformat.write(notebook, folder / "notebook.ipynb")
    return notebook


def execute(notebook: nbformat.NotebookNode, folder: Path) -> None:
    """Execute a notebook in a folder; its kernel opens no port, and its sockets lie in a folder of their own.

    Raises:
        CellExecutionError: When a cell fails.
    """
    with TemporaryDirectory() as sockets:
        kernel = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=f"{sockets}/kernel")
        place = {"metadata": {"path": str(folder)}}
        NotebookClient(notebook, km=kernel, timeout=LIMIT, resources=place).execute()


def page_of(notebook: nbformat.NotebookNode) -> tuple[str, list[str]]:
    """Return a notebook as Markdown, and the HTML of its outputs, which has places in the text."""
    parts: list[str] = []
    shown: list[str] = []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            parts.append(cell.source)
        elif cell.source.strip() and HIDDEN not in cell.metadata.get("tags", []):
            parts.append(_fenced(cell.source, ".python"))
            for output in cell.get("outputs", []):
                parts.append(_output(output, shown))
    return "\n\n".join(part for part in parts if part) + "\n", shown


def _output(output: Any, shown: list[str]) -> str:
    """Return an output as Markdown; its HTML is added to what is shown."""
    if output.output_type == "stream":
        return _printed(output.text)
    data = output.get("data", {})
    html = data.get("text/html") or data.get("image/svg+xml")
    for kind, address in PICTURES.items():
        if html is None and kind in data:
            html = f'<img alt="" src="{address.format(data[kind].strip())}">'
    if html is None:
        return _printed(data.get("text/plain", ""))
    shown.append(html)
    return _place(len(shown) - 1)


def _printed(text: str) -> str:
    """Return what code printed as a block, without colours."""
    lines = (line.rpartition("\r")[2] for line in ESCAPES.sub("", text).replace("\r\n", "\n").split("\n"))
    text = "\n".join(lines).strip("\n")
    return _fenced(text, ".text .printed") if text.strip() else ""


def _fenced(text: str, kind: str) -> str:
    """Return a block of code; its fence is longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence} {{ {kind} }}\n{text}\n{fence}"


def _place(number: int) -> str:
    """Return the place of an output in a page."""
    return f'<div class="shown" id="shown-{number}"></div>'
