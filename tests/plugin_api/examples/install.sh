#!/bin/sh
# install.sh BUILD PREFIX: installs the package against which the tests of examples build.
set -eu
rm -rf "$2"
cmake --install "$1" --prefix "$2" > /dev/null
[ -x "$2/bin/epiphyte" ] && [ -x "$2/bin/ep_conformance" ] || { echo "the installation has no programs" >&2; exit 1; }
