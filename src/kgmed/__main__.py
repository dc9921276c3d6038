"""The command `kgmed`; a question is answered by a service of the same account where one runs (`cli.serve.answering`).

The service has everything open that a new process would read in first. Whatever it cannot do as this process would
(another version, other options, a graph that has changed, an error) it declines, and the question is answered here.
"""

import os
import sys

SOCKET = "ask.sock"  # in the data folder; what listens there is known by `version`
_OWN = ("--no-service", "--config", "--help", "-h", "--help-all")  # words of a command that no service runs
_WAIT = 1.0  # ours: seconds for a service to say that it answers
_LONGEST = 100_000  # characters of a request


def main() -> None:
    """Run the command."""
    words = sys.argv[1:]
    asks = bool(words) and (words[0] == "ask" or " " in words[0]) and not any(word in _OWN for word in words)
    if not (asks and os.environ.get("KGMED_SERVICE") != "0" and _served(words)):
        from kgmed.cli import main as run

        run()


def version() -> str:
    """What a service and who asks it must have in common: the release, where it stands, and the interpreter."""
    from kgmed import __file__, __version__

    return f"{__version__} {__file__} {sys.version}"


def _served(words: list[str]) -> bool:
    """Whether a service has answered, and what it says is printed."""
    import json
    import socket

    from kgmed.disk import data_folder
    from kgmed.errors import KgmedError

    utf8 = all((out.encoding or "").lower() in ("utf-8", "utf8") for out in (sys.stdout, sys.stderr))
    if not (utf8 and hasattr(socket, "AF_UNIX")):
        return False
    try:
        said = json.dumps({"version": version(), "words": words, **_screen()}) + "\n"
        with socket.socket(socket.AF_UNIX) as link, link.makefile("rw", encoding="utf-8") as file:
            link.settimeout(_WAIT)
            link.connect(str(data_folder() / SOCKET))
            file.write(said)
            file.flush()
            if len(said) > _LONGEST or not file.readline():
                return False
            link.settimeout(None)
            reply = json.loads(file.readline())
    except (OSError, ValueError, KgmedError):
        return False
    return _print(reply)


def _screen() -> dict[str, int | bool]:
    """How this process shows text; see `cli.show.page`, which reads the same."""
    terminal = sys.stdout.isatty()
    columns = os.environ.get("COLUMNS", "")
    wide = int(columns) if columns else os.get_terminal_size(sys.stdout.fileno()).columns if terminal else 0
    plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return {"width": wide, "styles": terminal and not plain}


def _print(reply: dict[str, str]) -> bool:
    """True; what the service says is printed as far as anybody reads it."""
    try:
        for text, stream in ((reply["out"], sys.stdout), (reply["err"], sys.stderr)):
            stream.buffer.write(text.encode("utf-8", "replace"))
            stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the end would complain once more
    return True


if __name__ == "__main__":
    main()
