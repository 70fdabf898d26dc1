"""Commands of other programs, with their own arguments and their own output, on evalign's numbers."""
