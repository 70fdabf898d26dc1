"""Agreement with people: tables, pictures, an HTML report."""
