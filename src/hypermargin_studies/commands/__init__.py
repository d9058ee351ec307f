"""Commands that the studies add to `hypermargin`, one module per command."""
