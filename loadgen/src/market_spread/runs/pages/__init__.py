"""Pages of text, tables and pictures, and how a terminal, Markdown and HTML show them."""
