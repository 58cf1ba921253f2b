"""python -m vastsum"""

from vastsum.cli import main

if __name__ == "__main__":
    main()
