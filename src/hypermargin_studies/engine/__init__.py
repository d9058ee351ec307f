"""What all studies share: cells, the runner with its worker processes, the cache of records, tables and pages."""
