#!/bin/sh
# A first look at cordon.
set -eu
CORDON=${CORDON:-cordon}

echo "\$ cordon version"
"$CORDON" version
