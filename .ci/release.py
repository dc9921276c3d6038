"""Makes a checkout the release of a tag: the tag is the version.

    python .ci/release.py v0.1.0                           # before the tag is made
    python .ci/release.py v0.1.0 https://HOST/OWNER/NAME   # by the release workflow

The first writes the version into the package, the citation file and the chart, and a section with today's date into
the changelog. The second ends with an error where one of them names another version. Then it writes the repository's
address into pyproject.toml and makes the relative links of README.md absolute, so that both are right on the index.
"""

import datetime
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


VERSIONS = {  # where the version stands
    "src/kgmed/__init__.py": '__version__ = "{}"',
    "CITATION.cff": "version: {}",
    "deploy/helm/Chart.yaml": "version: {}",
}


def versioned(root: Path, tag: str) -> None:
    """Write the version of a tag into every file that names it, and its section into the changelog."""
    if not re.fullmatch(r"v\d+\.\d+\.\d+", tag):
        raise SystemExit(f"{tag}: a tag is vX.Y.Z")
    for name, line in VERSIONS.items():
        path, (before, after) = root / name, line.split("{}")
        said = re.sub(rf"^{before}[\w.]+{after}$", line.format(tag[1:]), path.read_text("utf-8"), flags=re.MULTILINE)
        path.write_text(said, "utf-8")
    log = root / "CHANGELOG.md"
    head = f"## [Unreleased]\n\n## [{tag[1:]}] - {datetime.datetime.now(datetime.UTC):%Y-%m-%d}"
    if f"\n## [{tag[1:]}]" not in log.read_text("utf-8"):
        log.write_text(log.read_text("utf-8").replace("## [Unreleased]", head, 1), "utf-8")


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
    if len(sys.argv) == 2:
        versioned(ROOT, sys.argv[1])
    else:
        checked(ROOT, sys.argv[1])
        addressed(ROOT, sys.argv[1], sys.argv[2])
