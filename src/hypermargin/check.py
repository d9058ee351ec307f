"""``python -m hypermargin.check proof.json points.csv``: the reference checker of certificates as a program."""

import sys

from hypermargin.certificates.reference.files import main

if __name__ == "__main__":
    sys.exit(main())
