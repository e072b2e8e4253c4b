"""The command ``xcid``: one verb a file, each with ``add(parser)``, which adds its options and what runs them.

It ends with 0 where all went well, 2 where it was called in a wrong way or something is wrong with a file or a table,
1 where something else went wrong, such as a model that fails (one line on stderr says what) or a check of ``validate``,
130 after Ctrl-C and 141 where the reader of a pipe went away. What a verb needs is imported when it runs: ``xcid
--help`` comes at once.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import io
import os
import re
import shlex
import sys
import warnings
from collections.abc import Collection, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from xcid import __version__
from xcid._require import make_printable, require, say_install
from xcid.cli._terminal import drop, show, streams, style_text
from xcid.errors import InvalidData, InvalidFile, InvalidParameter, MissingDependency, NotEnoughFlips, XcidError

VERBS = {  # as they are listed
    "demo": "see what it does, without a file",
    "explain": "explain rows of a table",
    "report": "write a page to look at rows of a table",
    "whatif": "find the changes that give rows another output",
    "app": "edit rows on a page, and see what decides them",
    "validate": "test xcid on your own model and table",
    "verify": "run a validation again, and say what differs",
    "compare": "compare with other methods",
    "compare-runs": "what changed between two saved explanations",
    "reproduce": "reproduce the paper's tables",
    "bench": "compare its speed with other methods",
    "schema": "print the schema of a verb's JSON, for programs that read it",
    "completion": "let your shell complete what you type",
}
MEASURING = ("validate", "verify", "compare", "reproduce", "bench")
LAB = "xcid_lab.verbs"  # imported where one of these is typed
WELCOME = """\
xcid explains single decisions of any model. Try:

  xcid demo                                                 a model, a decision, and what decides it
  xcid explain data.csv --target outcome                    the same for a table of your own
  xcid report data.csv --target outcome --out report.html   a page to look at, and to hand on
  xcid whatif data.csv --target outcome                     which changes would give another output

xcid --help lists all commands; xcid explain --help lists the options of one."""
CITE = (
    "CID, the method that --method cid runs: E. Conti, Á. Parafita and A. Brando, CID: Measuring Feature Importance "
    "Through Counterfactual Distributions, NLDL 2026, arXiv 2511.15371; please cite it if you use it."
)
COMPLETES = "_ARGCOMPLETE"  # a shell that wants to complete sets this, and calls the command
FAILED, BAD_INPUT, INTERRUPTED, PIPE_CLOSED = 1, 2, 130, 141
REFUSED = {errno.EMFILE: "let the process open more files (ulimit -n)"}
BAD = (InvalidData, InvalidFile, InvalidParameter, NotEnoughFlips)
_FROM_THE_END = re.compile(r"-\d+[-:,\d]*")  # -3: looks like an option to argparse


class Parser(argparse.ArgumentParser):
    """Says in one line what was typed in a wrong way, and in another where the options are listed."""

    verb = ""  # the only one that is known, where one was typed
    one: argparse.ArgumentParser | None = None  # that of this verb

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and end."""
        _, is_option, option = message.partition("unrecognized arguments: --")
        if is_option and self.one is not None:
            from xcid._check import meant

            message += meant(f"--{re.split('[ =]', option)[0]}", re.findall(r"--[a-z-]+", self.one.format_usage()))
        _say(message)
        typed = f"{self.prog} {self.verb}".rstrip()
        what = "all commands" if typed == "xcid" else "the options"
        self.exit(BAD_INPUT, f"{typed} --help lists {what}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, by default the one that was typed, and give its exit status."""
    _open_closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that has no blocks for the bars
    try:
        try:
            given = sys.argv[1:] if arguments is None else arguments
            if COMPLETES in os.environ:
                typed = os.environ.get("COMP_LINE", "").split()
                require("argcomplete", extra="completion").autocomplete(parser(typed))
            if not given:
                show(WELCOME)
                return 0
            if sorted(given) == ["--verbose", "--version"]:
                show(_describe_version())
                return 0
            options = _parse(given)
            with _warnings_as_notes():
                status = options.run(options)
        except SystemExit:  # after --help
            sys.stdout.flush()
            raise
        sys.stdout.flush()
    except XcidError as error:
        _say(str(error))
        return BAD_INPUT if isinstance(error, BAD) else FAILED
    except MemoryError:
        _say("there is not enough memory for this: give fewer rows to explain, or a few hundred reference rows")
        return FAILED
    except (KeyboardInterrupt, BrokenPipeError) as error:
        drop(sys.stdout)
        return PIPE_CLOSED if isinstance(error, BrokenPipeError) else INTERRUPTED
    except OSError as error:
        drop(sys.stdout)
        _say(_describe_refusal(error))
        return BAD_INPUT
    return status or 0


def _describe_version() -> str:
    """The version, and what it runs on: what a report of a fault should say."""
    import platform

    from xcid.native.library import road

    return f"xcid {__version__}\nPython {platform.python_version()} on {platform.platform()}\ntrees: {road()}"


def parser(typed: Collection[str] = tuple(VERBS)) -> argparse.ArgumentParser:
    """All verbs, and the options of those that were typed: only these are imported."""
    made = Parser(prog="xcid", description="Explains single decisions of any model.", epilog=CITE)
    made.add_argument("--version", action="version", version=f"xcid {__version__}")
    subparsers = made.add_subparsers(metavar="verb", required=True)
    for verb, summary in VERBS.items():
        one = subparsers.add_parser(verb, help=summary)
        if verb in typed:
            made.verb = verb
            module = _import_verb(verb)
            about = module.__doc__.partition(": ")[2]
            one.description = about if about.startswith("xcid") else about[:1].upper() + about[1:]
            module.add(one)
            made.one = one
    return made


def _import_verb(verb: str) -> Any:
    """Import the module of a verb, or say what to install."""
    try:
        return import_module(f"{LAB if verb in MEASURING else 'xcid.cli'}.{verb.replace('-', '_')}")
    except ImportError as error:
        if verb not in MEASURING:
            raise
        raise MissingDependency(
            f"xcid {verb} is part of the lab, which is not installed: {say_install('lab')}"
        ) from error


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Options; paths are absolute, for a model may change the working directory."""
    given = _join_rows(arguments)
    verb = given[0]
    if not verb.startswith("-") and verb not in VERBS:
        from xcid._check import MOST_SHOWN, meant

        unknown = f"{verb!r:.{MOST_SHOWN}}{meant(verb, VERBS)}"
        parser(()).error(f"there is no command {unknown}; the commands are {', '.join(VERBS)}")
    options = parser([verb]).parse_args(given)
    options.command = shlex.join(["xcid", *arguments])
    for name, value in vars(options).items():
        if isinstance(value, Path):
            setattr(options, name, value.absolute())
    return options


def _join_rows(arguments: Sequence[str]) -> list[str]:
    """Write ``--rows -3:`` as ``--rows=-3:``."""
    joined: list[str] = []
    for argument in arguments:
        if joined and joined[-1] == "--rows" and _FROM_THE_END.fullmatch(argument):
            joined[-1] = f"--rows={argument}"
        else:
            joined.append(argument)
    return joined


def _open_closed() -> None:
    """Give a process whose stdin, stdout or stderr is closed other ones, lest files that it opens become them.

    What is written to a stdout that was closed is an error; what is said on such a stderr is lost.
    """
    for handle, mode in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(handle)
        except OSError:
            os.dup2(os.open(os.devnull, mode), handle)
    sys.stdout, sys.stderr = sys.stdout or os.fdopen(1, "w"), sys.stderr or os.fdopen(2, "w")


def _describe_refusal(error: OSError) -> str:
    """What the system refused, and what to look at: a file, or where stdout leads."""
    if error.filename is not None and error.errno not in REFUSED:
        return f"{error.filename} cannot be used: {error.strerror}"
    return f"{error.strerror or error}: {REFUSED.get(error.errno or 0, 'see what stdout leads to, and its space')}"


def _say(message: str, style: str = "bold red") -> None:
    with contextlib.suppress(OSError):
        stream = streams()[1]
        stream.write(f"{style_text('xcid:', style, stream)} {make_printable(' '.join(message.split()))}\n")
        stream.flush()


@contextlib.contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Say each warning that is meant for users once, in one line; those for developers are left out."""
    noted: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if str(message) not in noted:
            noted.add(str(message))
            _say(f"note: {message}", "bold yellow")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
