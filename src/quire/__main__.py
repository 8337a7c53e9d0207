"""The command line as `python -m quire`."""

from quire.cli import main

if __name__ == "__main__":
    main()
