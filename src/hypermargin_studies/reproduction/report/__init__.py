"""The report of a run: tables beside the paper's numbers, figures, sentences, and the page that holds them."""
