"""The `evalign` command, also as `python -m evalign`; Ctrl-C while modules are imported is one line, too."""

import sys

from evalign.cli.interrupts import defer_during_imports


def main() -> None:
    """Run the command; a defect shows its traceback, with the texts in it escaped."""
    defer_during_imports()
    try:
        from evalign.cli.main import main as run

        run()
    except KeyboardInterrupt:
        print("evalign: interrupted", file=sys.stderr)
        sys.exit(130)
    except Exception:
        import traceback

        from evalign.io.output import escaped

        sys.stderr.write(escaped(traceback.format_exc()))
        sys.exit(1)


if __name__ == "__main__":
    main()
