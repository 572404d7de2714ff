#!/bin/sh
# Takes out of an environment what running needs not: symbols, sources and tests of packages.
#   sh configs/slim.sh .venv
set -eu
packages=$(echo "$1"/lib/python3.*/site-packages)
find "$packages" -name '*.so*' -exec strip --strip-unneeded {} + 2>/dev/null || true
find "$packages" -type d -name tests -prune -exec rm -rf {} +
# rich colours no code here
find "$packages/pygments/lexers" -name '*.py' ! -name '__init__.py' ! -name '_mapping.py' -delete
find "$packages" \( -name '*.c' -o -name '*.pyx' -o -name '*.pyi' \) -delete
du -sm "$packages"
