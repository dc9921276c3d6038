"""No floor of pyproject.toml and no pin of constraints.txt or clients/ admits a release with an advisory of ours.

Prints each that does, with the floor to set, and ends with 1; the folder may be named: python .ci/floors.py [ROOT].
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version


def floors(root: Path) -> Iterator[tuple[str, str, Version]]:
    """Where each requirement stands, its package, and the lowest release that it admits."""
    made = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    project = made["project"]
    groups = {"dependencies": project["dependencies"], **project.get("optional-dependencies", {})}
    groups |= made.get("dependency-groups", {})
    for pins in (root / "constraints.txt", *sorted((root / ".ci" / "clients").glob("*.txt"))):
        groups[pins.name] = re.findall(r"^[\w.\-]+==[^\s;#]+", pins.read_text(encoding="utf-8"), re.MULTILINE)
    for group, texts in groups.items():
        for wanted in map(Requirement, filter(lambda text: isinstance(text, str), texts)):
            named = [Version(s.version) for s in wanted.specifier if s.operator in (">=", "==", "~=", ">")]
            yield group, canonicalize_name(wanted.name), max(named, default=Version("0"))


def too_low(root: Path, advisories: Path) -> list[str]:
    """A line for each requirement that admits a release with an advisory."""
    rows = [r.split("\t") for r in advisories.read_text(encoding="utf-8").splitlines() if r and not r.startswith("#")]
    return [
        f"{group}: {name} admits {floor}, which has {advisory}; raise it to {fixed}"
        for group, name, floor in floors(root)
        for package, fixed, advisory in rows
        if name == package and floor < Version(fixed)
    ]


if __name__ == "__main__":
    found = too_low(Path(sys.argv[1] if len(sys.argv) > 1 else "."), Path(__file__).with_name("advisories.tsv"))
    print("\n".join(found) or "no floor and no pin admits a release with a known advisory")
    sys.exit(bool(found))
