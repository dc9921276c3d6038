"""Runs the Python blocks of a page of the documentation, one after the other, in a module of their own.

`python tests/run_page.py docs/python.md`: a block with `>>>` is a doctest, any other is executed. What a page shows is
then what it gives.
"""

import doctest
import re
import sys
from pathlib import Path
from types import ModuleType


def run_page(page: Path) -> int:
    """The number of examples that failed; what failed is printed."""
    module = ModuleType(page.stem)
    sys.modules[page.stem] = module
    text = page.read_text("utf-8")
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    for block in re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S):
        line = text[: block.start(1)].count("\n")
        if ">>> " in block[1]:
            test = doctest.DocTestParser().get_doctest(block[1], module.__dict__, page.name, str(page), line)
            test.globs = module.__dict__  # the names of one block are there for the next
            runner.run(test, clear_globs=False)
        else:
            exec(compile("\n" * line + block[1], str(page), "exec"), module.__dict__)
    return runner.summarize(verbose=False).failed


if __name__ == "__main__":
    sys.exit(run_page(Path(sys.argv[1])) > 0)
