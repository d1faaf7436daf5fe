"""Package inputs."""
