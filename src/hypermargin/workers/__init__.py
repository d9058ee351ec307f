"""Work in processes of its own, with time limits that really stop; and on what a run was made."""
