"""Pages of studies: figures, tables, HTML and Markdown."""
