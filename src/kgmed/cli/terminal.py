"""What terminals and pipes do differently: the one place of the command line that knows on which system it runs.

Each function takes the system as an argument, so that what it does elsewhere is tested here.
"""

import errno
import io
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, TextIO

_FULL = tuple(number for name in ("ENOSPC", "EDQUOT") if (number := getattr(errno, name, None)))
_OUTPUT = -11  # STD_OUTPUT_HANDLE of Windows
_STYLES = 0x0004  # ENABLE_VIRTUAL_TERMINAL_PROCESSING


def say_anything(*streams: TextIO) -> None:
    """From now on a character that an output's encoding does not have is printed as "?"."""
    for stream in streams or (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def nobody_reads(error: OSError, *, system: str = sys.platform) -> bool:
    """Whether an output has no reader any more: a broken pipe, which Windows calls an invalid argument.

    >>> nobody_reads(BrokenPipeError(errno.EPIPE, "")), nobody_reads(OSError(errno.EINVAL, ""), system="win32")
    (True, True)
    """
    return error.errno == errno.EPIPE or (system == "win32" and error.errno == errno.EINVAL)


def no_room(error: OSError) -> bool:
    """Whether the disk, or one's share of it, is full."""
    return error.errno in _FULL


def knows_styles(
    stream: TextIO,
    *,
    system: str = sys.platform,
    environment: Mapping[str, str] = os.environ,
    switch_on: Callable[[], bool] | None = None,
) -> bool:
    """Whether a stream is a terminal that draws styles and links; a console of Windows is told to."""
    if not stream.isatty() or "NO_COLOR" in environment or environment.get("TERM") == "dumb":
        return False
    return (switch_on or _switch_on)() if system == "win32" else True


def _switch_on() -> bool:
    """Whether the console of Windows draws styles from now on."""
    import ctypes

    kernel: Any = getattr(ctypes, "windll").kernel32  # noqa: B009 - only Windows has it
    handle, mode = kernel.GetStdHandle(_OUTPUT), ctypes.c_uint32()
    if not kernel.GetConsoleMode(handle, ctypes.byref(mode)):
        return False
    return bool(kernel.SetConsoleMode(handle, mode.value | _STYLES))
