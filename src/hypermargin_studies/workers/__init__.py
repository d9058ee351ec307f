"""Tasks in separate processes with time limits that are enforced, and a description of the machine of a run."""
