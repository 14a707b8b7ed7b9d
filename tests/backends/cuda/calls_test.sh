#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# If the host calls a device-only function, nvcc silently compiles it to a call of exit(). Checks
# that the module contains no such call.
#   calls_test.sh MODULE
set -euo pipefail
calls=$(nm -D --undefined-only "$1" | awk '{ print $NF }' | sed 's/@.*//')
grep -qx memcpy <<<"$calls" || { echo "$1 has no symbols to look at" && exit 1; }
if grep -qx exit <<<"$calls"; then
  echo "the host calls a function that is the device's alone: look for 'call exit' in $1"
  exit 1
fi
