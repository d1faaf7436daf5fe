"""Submit the job of a YAML file to a Ray cluster, and follow it to its end: exit 0 when it succeeded.

    python submit.py http://head-of-the-cluster:8265 [job.yaml]

Needs `pip install 'ray[default]==2.60.0' pyyaml` here; headroles itself runs on the cluster.
"""

import sys
from pathlib import Path
from typing import Any

import yaml

SECONDS = 5.0
"""Seconds between two checks of the job."""


def main(address: str, file: str = str(Path(__file__).with_name("job.yaml"))) -> int:
    """Submit the job, or follow it when it was submitted before.

    Args:
        address: Address of the dashboard of the cluster.
        file: YAML file of the job.

    Returns:
        0 when the job succeeded, otherwise 1.
    """
    from ray.job_submission import JobStatus, JobSubmissionClient

    job: dict[str, Any] = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
    client = JobSubmissionClient(address)
    known = {submitted.submission_id for submitted in client.list_jobs()}
    if job["submission_id"] in known and client.get_job_status(job["submission_id"]).is_terminal():
        client.delete_job(job["submission_id"])  # it has ended: the new job resumes the run
        known.discard(job["submission_id"])
    if job["submission_id"] not in known:
        client.submit_job(**job)
    return 0 if _follow(client, job["submission_id"]) == JobStatus.SUCCEEDED else 1


def _follow(client: Any, name: str) -> Any:
    """Print the logs of a job until it ends, and return its final status."""
    import time

    printed = 0
    while True:
        status = client.get_job_status(name)
        logs = client.get_job_logs(name)
        print(logs[printed:], end="", flush=True)
        printed = len(logs)
        if status.is_terminal():
            return status
        time.sleep(SECONDS)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
