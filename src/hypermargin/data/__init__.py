"""The data route: from what users pass to blocks of checked unit points with class indices and weights."""
