"""Run the command line with ``python -m headroles``."""

from headroles.cli.main import main

if __name__ == "__main__":
    main()
