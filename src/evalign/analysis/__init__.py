"""What is done with scored rows: scoring runs, comparing systems, agreement with people."""
