#!/usr/bin/env bash
# Builds Epiphyte and runs its tests. On a fresh Debian 12 or 13 it first installs the required packages.
#
#   ./tests/run.sh            the default suite
# ./tests/run.sh --long     also the tests labelled "long", and all tests again under AddressSanitizer with
# UndefinedBehaviorSanitizer, and under ThreadSanitizer; and the default suite once more with coverage: 90 % of the
# lines of core and kit must run
#
# The last line is "N passed, N failed"; the exit code is 0 when nothing failed.
set -euo pipefail
cd "$(dirname "$0")/.."

long=false
case "${1-}" in
  "") ;;
  --long) long=true ;;
  *) echo "usage: $0 [--long]" >&2; exit 2 ;;
esac

jobs=$(nproc)
# Lets ccache use what another clone has compiled.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
passed=0
failed=0

# run_suite PRESET CTEST_ARGUMENT...: builds a preset, runs its tests and adds to the totals. The tests get the
# environment variables in $check_with.
run_suite() {
  local preset=$1 log="build/$1.ctest.log" summary
  shift
  cmake --preset "$preset" >"build/$preset.configure.log" 2>&1 || { cat "build/$preset.configure.log"; return 1; }
  cmake --build --preset "$preset" -j "$jobs"
  # shellcheck disable=SC2086 # its words are variables
  env ${check_with-} ctest --test-dir "build/$preset" -j "$jobs" --output-on-failure "$@" 2>&1 | tee "$log" || true
  # The summary is "98% tests passed, 2 tests failed out of 100". A test without its program counts as failed.
  summary=$(sed -n 's/^[0-9]*% tests passed, \([0-9]*\) tests failed out of \([0-9]*\)$/\1 \2/p' "$log")
  [ -n "$summary" ] || { echo "ctest gave no summary for preset $preset" >&2; return 1; }
  failed=$((failed + ${summary% *}))
  passed=$((passed + ${summary#* } - ${summary% *}))
}

# A build or set-up that fails counts as a failure, so that the last line reports it.
close_line() {
  local status=$?
  if [ "$status" -ne 0 ]; then failed=$((failed + 1)); fi
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ] || exit 1
}
trap close_line EXIT

./cmake/install_dependencies.sh
mkdir -p build
if $long; then
  run_suite release
  # Libraries stay open, so that leaks of a driver can be identified by its name. Interception of __tls_get_addr makes
  # the leak checker of GCC 12 crash at the end of programs that load plugins.
  cc -shared -fPIC -O1 tests/framework/sanitizers/keep_libraries_open.c -o build/keep_libraries_open.so
  check_with="LD_PRELOAD=$PWD/build/keep_libraries_open.so
    ASAN_OPTIONS=intercept_tls_get_addr=0:verify_asan_link_order=0
    LSAN_OPTIONS=print_suppressions=0:suppressions=$PWD/tests/framework/sanitizers/leaks_of_others.txt" \
    run_suite asan -LE uninstrumented
  check_with="TSAN_OPTIONS=suppressions=$PWD/tests/framework/sanitizers/races_of_others.txt" \
    run_suite tsan -LE uninstrumented
  # Counts of an earlier build don't fit this one.
  if [ -d build/coverage ]; then find build/coverage -name '*.gcda' -delete; fi
  run_suite coverage -LE '^long$|uninstrumented'
  if tests/coverage.sh build/coverage --least 90; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
else
  run_suite release -LE '^long$'
fi
