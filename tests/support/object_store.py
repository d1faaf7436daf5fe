"""An object store of this machine that speaks the protocol of S3, for tests."""

import logging
import os
from collections.abc import Iterator
from unittest import mock

import pytest

KEYS = {"AWS_ACCESS_KEY_ID": "made-up", "AWS_SECRET_ACCESS_KEY": "made-up", "AWS_DEFAULT_REGION": "us-east-1"}


@pytest.fixture(scope="session")
def bucket() -> Iterator[str]:
    """The address of a bucket; the variables by which drivers find it are set meanwhile."""
    import s3fs
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        with mock.patch.dict(os.environ, KEYS | {"AWS_ENDPOINT_URL": f"http://{host}:{port}"}):
            s3fs.S3FileSystem.clear_instance_cache()
            s3fs.S3FileSystem().mkdir("headroles-tests")
            yield "s3://headroles-tests"
            s3fs.S3FileSystem.clear_instance_cache()
    finally:
        server.stop()
