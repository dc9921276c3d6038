"""The steps of deploy/Dockerfile without Docker, in a folder that goes away: what is copied, run, set and begun.

    python bench/dockerfile.py

An environment stands in for the base image, and a folder for the volume; the step that makes a user is left out, and
the service listens on the loopback interface. It ends with 0 where the health check passes and a question is answered.
"""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.request import Request, urlopen

ROOT = Path(__file__).resolve().parents[1]
STEPS = re.sub(r"\\\n", " ", (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")).splitlines()
QUESTION = json.dumps({"question": "What are the signs of Marfan syndrome?"}).encode()


def main() -> None:
    """Do the steps in their order."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, data = Path(scratch) / "app", Path(scratch) / "data"
        folder.mkdir()
        subprocess.run([sys.executable, "-m", "venv", f"{scratch}/venv"], check=True)
        env = {**os.environ, "PATH": f"{scratch}/venv/bin:{os.environ['PATH']}"}
        env.pop("PYTHONPATH", None)
        for step in STEPS:
            kind, _, rest = step.partition(" ")
            if kind == "COPY":
                copy(rest.split(), folder)
            elif kind == "ENV":
                env |= {k: v.replace("/data", str(data)) for k, v in (pair.split("=", 1) for pair in shlex.split(rest))}
            elif kind == "RUN" and "useradd" not in rest:
                print(f"-- {rest}", flush=True)
                subprocess.run(rest, shell=True, check=True, cwd=folder, env=env)
        begin(env, folder)


def copy(names: list[str], folder: Path) -> None:
    """What stands beside the Dockerfile's root, in the image's folder."""
    *sources, target = names
    for name in sources:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder)


def begin(env: dict[str, str], folder: Path) -> None:
    """The command of the image, its health check, and a question."""
    said = "\n".join(STEPS)
    command = json.loads(re.findall(r"^CMD (.*)$", said, re.M)[0])
    check = json.loads(re.findall(r"^HEALTHCHECK .*CMD (.*)$", said, re.M)[0])
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port = str(place.getsockname()[1])
    command = ["127.0.0.1" if word == "0.0.0.0" else word for word in command]
    answer = ""
    with subprocess.Popen([*command, "--port", port], cwd=folder, env=env) as service:
        try:
            for _ in range(600):
                if (
                    subprocess.run(
                        [c.replace("8765", port) for c in check], env=env, stderr=subprocess.DEVNULL
                    ).returncode
                    == 0
                ):
                    break
                time.sleep(0.5)
            asked = Request(f"http://127.0.0.1:{port}/v1/ask", QUESTION, {"content-type": "application/json"})
            for _ in range(120):
                try:
                    answer = json.load(urlopen(asked, timeout=60))["answer"]["text"]
                    break
                except OSError:  # 503 while the graphs are opened
                    time.sleep(1)
            if "rachnodactyly" not in answer:
                raise SystemExit(f"the image does not answer: {answer[:200]}")
        finally:
            service.terminate()
    print("-- the health check passes, and it answers")


if __name__ == "__main__":
    main()
