"""`python -m evalign` is the `evalign` command."""

from evalign.cli.main import main

main()
