#!/bin/sh
# Compiles the vector loops and their tests for aarch64, and runs them if an emulator is given. Highway's headers are
# enough, because loops for a single instruction set call nothing of its library. ccache is used if it is installed.
#
#   aarch64.sh SOURCE_FOLDER WORK_FOLDER GOOGLETEST_FOLDER COMPILER [EMULATOR ARGUMENT...]
set -eu
source=$1 work=$2 googletest=$3 compiler=$4
shift 4
rm -rf "$work"
mkdir -p "$work"
cd "$source"
launcher=$(command -v ccache || true)
flags="-O1 -std=c++20 -Wall -Wextra -Werror -I. -Iplugin_api/include -Iplugin_api/kit"
tests="-isystem $googletest/googletest/include -isystem $googletest/googlemock/include"
for file in plugins/cpu/simd/*/*.cpp tests/cpu/simd/*/*_test.cpp; do
  echo "$launcher $compiler $flags $tests -c $file -o $work/$(basename "$file" .cpp).o"
done > "$work/commands"
for file in googletest/src/gtest-all googlemock/src/gmock-all googlemock/src/gmock_main; do
  echo "$launcher $compiler -O1 $tests -I$googletest/${file%%/*} -c $googletest/$file.cc -o $work/$(basename $file).o"
done >> "$work/commands"
tr '\n' '\0' < "$work/commands" | xargs -0 -n 1 -P "$(nproc)" sh -c
"$compiler" "$work"/*.o -o "$work/simd_tests"
[ $# -eq 0 ] || "$@" "$work/simd_tests" --gtest_brief=1
