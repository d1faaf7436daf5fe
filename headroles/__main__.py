"""python -m headroles."""

from headroles.cli import main

if __name__ == "__main__":
    main()
