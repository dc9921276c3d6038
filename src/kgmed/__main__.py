"""`python -m kgmed`: the command, with the interpreter that was named."""

from kgmed.cli import main

if __name__ == "__main__":
    main()
