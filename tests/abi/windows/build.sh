#!/bin/sh
# Compiles headers, kit, plain-C sample and a plugin of the kit for Windows, in a folder that has nothing but the
# installed package. Each library exports EpPluginQuery alone. A library that includes the headers without being a
# plugin exports nothing.
set -eu
build=$1
tests=$2
target=x86_64-w64-mingw32
for tool in gcc g++ objdump; do
  command -v $target-$tool > /dev/null || { echo "$target-$tool is missing; run cmake/install_dependencies.sh" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" --component plugin_api > "$work/install.log"
include=$work/prefix/include
[ -f "$include/epiphyte/ep_plugin.h" ] || { cat "$work/install.log"; echo "the package has no headers" >&2; exit 1; }

# Each header of the ABI compiles alone. The host includes all of them but ep_entry.h.
headers=0
for header in "$include"/epiphyte/*.h "$include"/epiphyte/draft/*.h; do
  name=${header#"$include/"}
  printf '#include "%s"\n' "$name" > "$work/unit.cpp"
  cp "$work/unit.cpp" "$work/unit.c"
  $target-g++ -std=c++20 -Wall -Wextra -Wno-missing-field-initializers -Werror -I"$include" -E -P "$work/unit.cpp" > "$work/unit.ii"
  if [ "$name" != epiphyte/ep_entry.h ] && grep -n 'dllexport' "$work/unit.ii" >&2; then
    echo "who includes $name is told to export: only a plugin, through ep_entry.h, is" >&2
    exit 1
  fi
  $target-g++ -std=c++20 -Wall -Wextra -Wno-missing-field-initializers -Werror -fsyntax-only -I"$include" "$work/unit.cpp"
  $target-gcc -std=c11 -Wall -Wextra -pedantic -Werror -fsyntax-only -I"$include" "$work/unit.c"
  headers=$((headers + 1))
done
# Each header of the kit compiles alone, too.
for header in "$include"/epiphyte/kit/*/*.hpp; do
  printf '#include "%s"\n' "${header#"$include/"}" > "$work/unit.cpp"
  $target-g++ -std=c++20 -Wall -Wextra -Wno-missing-field-initializers -Werror -fsyntax-only -I"$include" "$work/unit.cpp"
  headers=$((headers + 1))
done
[ "$headers" -ge 100 ] || { echo "only $headers headers were found in the package" >&2; exit 1; }

mkdir "$work/vendor"
examples=$tests/../plugin_api/examples
cp "$tests/abi/windows/CMakeLists.txt" "$examples/plain_c/plain_c.c" "$examples/kit_full/kit_full.cpp" "$work/vendor"
# ccache must not compare the paths of this run.
export CCACHE_BASEDIR="$work" CCACHE_NOHASHDIR=1
launcher=$(command -v ccache || true)
cmake -G Ninja -S "$work/vendor" -B "$work/vendor/build" -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_SYSTEM_PROCESSOR=x86_64 \
  -DCMAKE_C_COMPILER=$target-gcc -DCMAKE_CXX_COMPILER=$target-g++ -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DC_PLUGIN=plain_c.c -DKIT_PLUGIN=kit_full.cpp \
  -DCMAKE_C_COMPILER_LAUNCHER="$launcher" -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" > "$work/configure.log" 2>&1 || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/vendor/build" > "$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }

# The package's kit library is for Linux. Its sources must have been compiled instead, and nothing else of the package.
[ -f "$work/vendor/build/libepiphyte_kit.a" ] || { cat "$work/build.log"; echo "the kit was not compiled for Windows" >&2; exit 1; }

libraries=0
for library in "$work"/vendor/build/*.dll; do
  name=$(basename "$library")
  $target-objdump -p "$library" > "$work/dump"
  grep -q 'file format pei-x86-64' "$work/dump" || { head -3 "$work/dump"; echo "$name is no library of 64-bit Windows" >&2; exit 1; }
  exported=$(sed -n '/^\[Ordinal\/Name Pointer\] Table/,/^$/s/^[[:space:]]*\[ *[0-9]*\] *\(+base\[ *[0-9]*\] *\)\{0,1\}\([0-9a-f]\{4\} *\)\{0,1\}//p' "$work/dump")
  [ "$exported" = EpPluginQuery ] || { echo "$name exports:" $exported "- expected EpPluginQuery alone" >&2; exit 1; }
  # The plugin may need only DLLs that every Windows has. A runtime of the compiler would have to be shipped with it.
  for needed in $(sed -n 's/^[[:space:]]*DLL Name: *//p' "$work/dump"); do
    case $needed in
      KERNEL32.dll|msvcrt.dll|api-ms-win-*|ucrtbase.dll) ;;
      *) echo "$name needs $needed" >&2; exit 1 ;;
    esac
  done
  libraries=$((libraries + 1))
done
[ "$libraries" -eq 2 ] || { ls "$work/vendor/build"; echo "$libraries libraries were built, 2 are expected" >&2; exit 1; }
echo "$headers headers compile for Windows; $libraries libraries export one symbol each"
