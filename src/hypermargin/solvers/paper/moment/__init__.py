"""The moment (Lasserre) relaxation: `model` builds it, `backends` solve it, `solver` proves and extracts."""
