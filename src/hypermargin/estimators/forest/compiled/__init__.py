"""The inner loops of trees, compiled: one idea per file, no interpreter inside."""
