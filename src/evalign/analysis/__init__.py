"""Analysis of scored rows: scoring runs, comparing systems, agreement with people, audits of metrics."""
