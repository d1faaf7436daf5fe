"""The jobs for clusters in ``examples/``: fields as their services want them, commands as ours takes them."""

import importlib.util
import json
import re
import shlex
import sys
import tomllib
import types
from pathlib import Path
from typing import Any

import pytest
import yaml

from headroles.addresses import is_address
from headroles.cli.main import cli
from headroles.cli.options import Command
from headroles.options.label import LabelOptions
from headroles.options.values import record_of

ROOT = Path(__file__).resolve().parents[2]
JOB, RAYJOB = ROOT / "examples" / "ray-job", ROOT / "examples" / "kuberay"


def _asked(entrypoint: str) -> LabelOptions:
    """The options that a command line gives, parsed as ``headroles`` parses it, and checked as it checks."""
    program, *words = shlex.split(entrypoint)
    assert program == "headroles"
    name, command, rest = cli.resolve_command(cli.make_context("headroles", list(words)), words)
    assert isinstance(command, Command)
    assert name == "label"
    given = command.check(command.make_context("label", list(rest)))
    return record_of(LabelOptions, **{name: value for name, value in given.items() if name != "display"})


def _commands(page: str) -> list[str]:
    """Every command line of ``headroles label`` in a page, continued lines joined."""
    joined = re.sub(r"\\\n\s*", "", page)
    return [
        line[line.index("headroles label") :] for line in joined.splitlines() if "headroles label --" in line
    ]


@pytest.fixture
def rayjob() -> dict[str, Any]:
    """The manifest for KubeRay."""
    read: dict[str, Any] = yaml.safe_load((RAYJOB / "rayjob.yaml").read_text())
    return read


@pytest.fixture
def submitting() -> tuple[dict[str, str], str]:
    """Options and command of ``ray job submit`` as the page of the job has them."""
    page = re.sub(r"\\\n\s*", "", (JOB / "README.md").read_text())
    (block,) = (each for each in page.split("```") if "ray job submit" in each)
    words = shlex.split(block)
    end = words.index("--")
    return dict(zip(words[3:end:2], words[4:end:2], strict=True)), shlex.join(words[end + 1 :])


def test_the_page_of_the_job_submits_what_its_file_says(submitting: tuple[dict[str, str], str]) -> None:
    job = yaml.safe_load((JOB / "job.yaml").read_text())
    options, command = submitting
    assert _asked(command) == _asked(job["entrypoint"])
    assert json.loads(options.pop("--runtime-env-json")) == job["runtime_env"]
    assert options == {"--address": "http://HEAD:8265", "--submission-id": job["submission_id"]}


def test_the_run_is_driven_from_the_head_and_holds_no_gpu_for_head_cards(rayjob: dict[str, Any]) -> None:
    job = yaml.safe_load((JOB / "job.yaml").read_text())
    for asked in (job, rayjob["spec"]):  # Ray keeps a driver on the head as long as it asks for nothing
        assert not [
            name for name in asked if re.match(r"entrypoint_?(num|mem|res|label)", name, re.IGNORECASE)
        ]
        assert _asked(asked["entrypoint"]).maps == 0
    (large,) = _commands((ROOT / "docs" / "how-to" / "scale.md").read_text())
    assert (_asked(large).maps, _asked(large).threads) == (0, 4)


def test_what_is_no_source_stays_out_of_the_image() -> None:
    left_out = set((ROOT / ".dockerignore").read_text().split())
    assert {".git", ".venv", "runs", "compare", ".*_cache", ".hypothesis"} <= left_out


def test_the_job_is_what_ray_takes() -> None:
    from inspect import signature

    from ray.job_submission import JobSubmissionClient

    job = yaml.safe_load((JOB / "job.yaml").read_text())
    signature(JobSubmissionClient.submit_job).bind(None, **job)
    assert set(job["runtime_env"]) == {"pip", "env_vars"}
    assert job["runtime_env"]["env_vars"]["RAY_USAGE_STATS_ENABLED"] == "0"
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(re.findall(r"\[(.*)\]", job["runtime_env"]["pip"][0])[0].split(",")) <= set(extras)


def test_commands_of_the_examples_are_ours(rayjob: dict[str, Any]) -> None:
    job = yaml.safe_load((JOB / "job.yaml").read_text())
    lines = [job["entrypoint"], rayjob["spec"]["entrypoint"]]
    lines += _commands((JOB / "README.md").read_text())
    assert len(lines) == 4
    for line in lines:
        options = _asked(line)
        assert options.engine == "ray"
        assert options.workers > 1
    for line in lines[:3]:
        options = _asked(line)
        assert is_address(options.out or "")
        assert is_address(str(options.data))
        assert options.address == "auto"
        assert options.stream
        assert options.gpus == 1


def test_the_rayjob_has_the_fields_that_kuberay_needs(rayjob: dict[str, Any]) -> None:
    assert (rayjob["apiVersion"], rayjob["kind"]) == ("ray.io/v1", "RayJob")
    spec = rayjob["spec"]
    assert spec["shutdownAfterJobFinishes"] is True
    assert spec["submissionMode"] in {"K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode"}
    cluster = spec["rayClusterSpec"]
    head, (group,) = cluster["headGroupSpec"], cluster["workerGroupSpecs"]
    for each in (head, group):
        assert all(isinstance(value, str) for value in each["rayStartParams"].values()), (
            "KubeRay takes strings"
        )
        (container,) = each["template"]["spec"]["containers"]
        assert {"name", "image", "env", "resources"} <= set(container)
        requests, limits = container["resources"]["requests"], container["resources"]["limits"]
        assert requests["memory"] == limits["memory"], "or Ray is killed for memory it was promised"
        assert {"name": "RAY_USAGE_STATS_ENABLED", "value": "0"} in container["env"]
    mounts = {each["name"] for each in group["template"]["spec"]["containers"][0]["volumeMounts"]}
    assert mounts == {each["name"] for each in group["template"]["spec"]["volumes"]}


def test_the_workers_fit_on_the_cluster(rayjob: dict[str, Any]) -> None:
    options = _asked(rayjob["spec"]["entrypoint"])
    (group,) = rayjob["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    (container,) = group["template"]["spec"]["containers"]
    limits = container["resources"]["limits"]
    assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
    assert options.workers * options.gpus <= group["replicas"] * float(limits["nvidia.com/gpu"])
    each = int(float(limits["nvidia.com/gpu"]) / options.gpus)
    assert each * (options.threads or 1) <= int(limits["cpu"])
    assert options.cache == container["volumeMounts"][0]["mountPath"]


def test_image_cluster_and_tested_versions_are_one(rayjob: dict[str, Any]) -> None:
    pinned = dict(
        line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line
    )
    file = (RAYJOB / "Dockerfile").read_text()
    assert rayjob["spec"]["rayClusterSpec"]["rayVersion"] == pinned["ray"]
    assert f"FROM rayproject/ray:{pinned['ray']}-py311-gpu" in file
    for page in ("README.md", "submit.py"):
        assert f"pip install 'ray[default]=={pinned['ray']}' pyyaml" in (JOB / page).read_text()
    images = {
        container["image"]
        for spec in (
            rayjob["spec"]["rayClusterSpec"]["headGroupSpec"],
            *rayjob["spec"]["rayClusterSpec"]["workerGroupSpecs"],
        )
        for container in spec["template"]["spec"]["containers"]
    }
    assert images == {re.findall(r"-t (\S+)", file)[0]}


def _submitting() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("submit", JOB / "submit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("ends", "code"), [("SUCCEEDED", 0), ("FAILED", 1), ("STOPPED", 1)])
@pytest.mark.parametrize("before", [None, "RUNNING", "FAILED"])
def test_a_job_is_submitted_once_and_followed_to_its_end(
    before: str | None,
    ends: str,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from ray import job_submission
    from ray.job_submission import JobStatus

    done: list[str] = []

    class Client:
        """A cluster whose job says two lines and ends."""

        def __init__(self, address: str) -> None:
            assert address == "http://head:8265"
            self.status = None if before is None else JobStatus(before)
            self.asked = 0

        def list_jobs(self) -> list[Any]:
            job = types.SimpleNamespace(submission_id="headroles-corpus-bert-base")
            return [] if self.status is None else [job]

        def delete_job(self, name: str) -> None:
            done.append("deleted")
            self.status = None

        def submit_job(self, **job: Any) -> None:
            assert job["submission_id"] == "headroles-corpus-bert-base"
            done.append("submitted")
            self.status = JobStatus.PENDING

        def get_job_status(self, name: str) -> Any:
            if "waited" in done:
                self.status = JobStatus(ends)
            return self.status

        def get_job_logs(self, name: str) -> str:
            return "one\ntwo\n" if "waited" in done else "one\n"

    monkeypatch.setattr(job_submission, "JobSubmissionClient", Client)
    monkeypatch.setattr("time.sleep", lambda seconds: done.append("waited"))
    assert _submitting().main("http://head:8265") == code
    assert capsys.readouterr().out == "one\ntwo\n"
    wanted = {None: ["submitted"], "RUNNING": [], "FAILED": ["deleted", "submitted"]}[before]
    assert [each for each in done if each != "waited"] == wanted
    assert "submit" not in sys.modules
