"""Hand the job of a YAML file to a Ray cluster, and follow it to its end: exit 0 when it succeeded.

    python submit.py http://head-of-the-cluster:8265 [job.yaml]

Needs `pip install 'ray[default]==2.60.0' pyyaml` here; headroles itself runs on the cluster.
"""

import sys
from pathlib import Path
from typing import Any

import yaml

SECONDS = 5.0
"""Between two looks at the job."""


def main(address: str, file: str = str(Path(__file__).with_name("job.yaml"))) -> int:
    """Submit the job, or go on watching it when it was submitted before.

    Args:
        address: Of the dashboard of the cluster.
        file: What to submit.

    Returns:
        0 when the job succeeded, else 1.
    """
    from ray.job_submission import JobStatus, JobSubmissionClient

    job: dict[str, Any] = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
    client = JobSubmissionClient(address)
    known = {each.submission_id for each in client.list_jobs()}
    if job["submission_id"] in known and client.get_job_status(job["submission_id"]).is_terminal():
        client.delete_job(job["submission_id"])  # it stopped: the run goes on where it was
        known.discard(job["submission_id"])
    if job["submission_id"] not in known:
        client.submit_job(**job)
    return 0 if _followed(client, job["submission_id"]) == JobStatus.SUCCEEDED else 1


def _followed(client: Any, name: str) -> Any:
    """Print what a job says until it ends, and return how it ended."""
    import time

    shown = 0
    while True:
        status = client.get_job_status(name)
        said = client.get_job_logs(name)
        print(said[shown:], end="", flush=True)
        shown = len(said)
        if status.is_terminal():
            return status
        time.sleep(SECONDS)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
