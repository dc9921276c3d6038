"""Prepares a checkout for a release: `python .ci/release.py v0.1.0 https://HOST/OWNER/NAME`.

It ends with an error where the tag is not the version of the package, the changelog has no section for it, or the
citation file names another. Then it writes the repository's address into pyproject.toml and makes the relative links
of README.md absolute, so that both are right on the package index.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def version_of(root: Path) -> str:
    """The version that the package names."""
    found = re.search(r'^__version__ = "([^"]+)"$', (root / "src/kgmed/__init__.py").read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise SystemExit("src/kgmed/__init__.py: no __version__")
    return found[1]


def checked(root: Path, tag: str) -> str:
    """The version that a tag releases; ends with an error where a file says another."""
    version = version_of(root)
    wanted = {
        "the tag": tag == f"v{version}",
        "CHANGELOG.md": f"\n## [{version}] - " in (root / "CHANGELOG.md").read_text("utf-8"),
        "CITATION.cff": f"\nversion: {version}\n" in (root / "CITATION.cff").read_text("utf-8"),
        "deploy/helm/Chart.yaml": f"\nversion: {version}\n" in (root / "deploy/helm/Chart.yaml").read_text("utf-8"),
    }
    if wrong := [name for name, right in wanted.items() if not right]:
        raise SystemExit(f"version {version}: {', '.join(wrong)} named {tag} or another version")
    return version


def addressed(root: Path, tag: str, address: str) -> None:
    """Write the address of the repository where the package index shows it."""
    urls = {
        "Repository": address,
        "Issues": f"{address}/issues",
        "Changelog": f"{address}/blob/{tag}/CHANGELOG.md",
        "Documentation": f"{address}/tree/{tag}/docs",
    }
    project = root / "pyproject.toml"
    table = "\n".join(f'{name} = "{url}"' for name, url in urls.items())
    project.write_text(f"{project.read_text('utf-8').rstrip()}\n\n[project.urls]\n{table}\n", "utf-8")
    readme = root / "README.md"
    text = re.sub(r"(!\[[^\]]*\]\()(?!https?:)", rf"\g<1>{address}/raw/{tag}/", readme.read_text("utf-8"))
    readme.write_text(re.sub(r"(?<!!)(\[[^\]]*\]\()(?!https?:|#)", rf"\g<1>{address}/blob/{tag}/", text), "utf-8")


if __name__ == "__main__":
    checked(ROOT, sys.argv[1])
    addressed(ROOT, sys.argv[1], sys.argv[2])
