"""`python -m recap`."""

import sys

from recap.cli import main

sys.exit(main())
