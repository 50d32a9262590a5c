#!/bin/sh
# Mistakes of a plugin's author that the compiler can report. Each message is one sentence that names the line to
# change.
#
#   mistakes.sh COMPILER SOURCE_FOLDER
set -eu
compiler=$1 root=$2
kit=$root/plugin_api/kit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() { "$compiler" "$@" -fsyntax-only -I"$root/plugin_api/include" -I"$kit" "$work/unit.cpp" 2> "$work/errors"; }
fail() { cat "$work/unit.cpp" "$work/errors"; echo "$1" >&2; exit 1; }

# --- a compiler set to a standard before C++20: one line, whichever header comes first

headers=0
for header in "$kit"/epiphyte/kit/*/*.hpp; do
  name=${header#"$kit/"}
  printf '#include "%s"\n' "$name" > "$work/unit.cpp"
  if compile -std=c++17; then fail "$name compiles as C++17"; fi
  [ "$(grep -c 'error:' "$work/errors")" = 1 ] || fail "$name: one error as C++17 expected"
  grep -q 'error:.*the kit needs C++20: compile with -std=c++20' "$work/errors" || fail "$name: no word of C++20"
  headers=$((headers + 1))
done
[ "$headers" -ge 40 ] || { echo "only $headers headers were found" >&2; exit 1; }

# --- classes that lack a member

# plugin BODY: writes a plugin with that body in its provider class
plugin() {
  cat > "$work/unit.cpp" <<UNIT
#include "epiphyte/kit/plugin/plugin.hpp"
namespace kit = epiphyte::kit;
#define SUPPORTS bool Supports(const kit::NodeView&, std::string*) override { return true; }
#define COMPILE std::unique_ptr<kit::Kernel> Compile(const kit::Partition&) override { return nullptr; }
#define SAVE void SaveContext(const std::vector<std::string>&, kit::ContextWriter&) override {}
#define LOAD std::unique_ptr<kit::Kernel> LoadContext(std::string_view, std::span<const std::byte>) override { return nullptr; }
#define VERSION static constexpr const char* kSdkVersion = "1";
struct Mine : kit::Provider {
  explicit Mine(const kit::ProviderConfig&) {}
  $1
};
EPIPHYTE_KIT_PLUGIN(Mine, "mine", "me", "1.0.0", "Mine")
UNIT
}
accepts() {
  plugin "$1"
  compile -std=c++20 -Wall -Wextra -Werror || fail "it compiles: $1"
}
refuses() {
  plugin "$1"
  if compile -std=c++20; then fail "it does not compile: $1"; fi
  [ "$(grep -c 'error:' "$work/errors")" = 1 ] || fail "one error expected: $1"
  grep -qF "$2" "$work/errors" || fail "the message is expected to say: $2"
}

accepts 'SUPPORTS COMPILE'
accepts 'SUPPORTS COMPILE SAVE LOAD VERSION static constexpr bool kMakesContexts = true;'
accepts 'SUPPORTS COMPILE SAVE LOAD VERSION static constexpr bool kMakesContexts = false;'
refuses 'COMPILE' 'override Supports or GetCapability'
refuses 'SUPPORTS' 'override Compile or CompileAll'
refuses 'SUPPORTS COMPILE SAVE LOAD VERSION' 'declare static constexpr bool kMakesContexts = true;'
refuses 'SUPPORTS COMPILE LOAD VERSION static constexpr bool kMakesContexts = true;' 'override SaveContext or SaveContexts'
refuses 'SUPPORTS COMPILE SAVE VERSION static constexpr bool kMakesContexts = true;' 'override LoadContext or LoadContexts'
refuses 'SUPPORTS COMPILE SAVE LOAD static constexpr bool kMakesContexts = true;' 'declare static constexpr const char* kSdkVersion'

# --- a class that is neither a provider nor a plugin

plugin ''
sed -i 's/struct Mine : kit::Provider {/struct Mine {/' "$work/unit.cpp"
if compile -std=c++20; then fail 'a class that derives from nothing makes no plugin'; fi
grep -q 'derived from kit::Provider or kit::Plugin' "$work/errors" || fail 'the message names what to derive from'

echo "$headers headers ask for C++20, and every mistake has its sentence"
