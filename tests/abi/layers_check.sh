#!/bin/sh
# Tests layers.sh on small trees, each with one include too many.
set -eu
layers=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# plant FILE LINE...: writes a file into the tree $tree
plant() {
  mkdir -p "$tree/$(dirname "$1")"
  file=$tree/$1
  shift
  for line in "$@"; do echo "$line"; done > "$file"
}

# begin: makes a tree without a forbidden include
begin() {
  tree=$work/tree
  rm -rf "$tree"
  mkdir -p "$tree/host/cli" "$tree/host/tools" "$tree/host/include" "$tree/host/examples" "$tree/plugin_api/include"
  plant core/base/text.h '#pragma once'
  plant core/base/text.cpp '#include "core/base/text.h"'
  plant core/graph/graph.h '#include "core/base/text.h"'
  plant plugins/cpu/kernel/tensor.h '#include "epiphyte/ep_host.h"'
  plant plugin_api/kit/epiphyte/kit/abi/error.hpp '#include "epiphyte/ep_host.h"'
  plant plugin_api/include/epiphyte/ep_host.h '#include <stdint.h>'
}

# refused WHAT PATTERN: fails unless layers.sh refuses the tree with a message that matches PATTERN
refused() {
  if "$layers" "$tree" > "$work/out" 2>&1; then
    echo "$1 was not seen" >&2
    exit 1
  fi
  if ! grep -qE "$2" "$work/out"; then
    echo "$1 was refused with other words than '$2':" >&2
    cat "$work/out" >&2
    exit 1
  fi
}

begin
"$layers" "$tree" > /dev/null

begin
plant core/base/text.h '#include "core/graph/graph.h"'
plant core/graph/graph.h '#pragma once'
refused "a floor of the core" 'core/base/text.h: a lower floor includes a higher one, core/graph/graph.h'

begin
plant core/cache/folder.h '#include "core/runtime/session.h"'
plant core/runtime/session.h '#include "core/cache/lock.h"'
plant core/cache/lock.h '#pragma once'
refused "a session that knows the cache" 'core/runtime/session.h: a lower floor'

begin
plant plugins/cpu/kernel/tensor.h '  #  include "plugins/cpu/ops/add.h"'
plant plugins/cpu/ops/add.h '#pragma once'
refused "a floor of a plugin" 'plugins/cpu/kernel/tensor.h: a lower floor'

begin
plant plugin_api/kit/epiphyte/kit/abi/error.hpp '#include "epiphyte/kit/plugin/plugin.hpp"'
plant plugin_api/kit/epiphyte/kit/plugin/plugin.hpp '#pragma once'
refused "a floor of the kit" 'kit/abi/error.hpp: a lower floor'

begin
plant core/graph/a.h '#include "core/graph/b.h"'
plant core/graph/b.h '#pragma once'
plant core/graph/b.cpp '#include "core/graph/b.h"' '#include "core/graph/a.h"'
refused "a circle through a .cpp" 'a circle of includes: core/graph/[ab] core/graph/[ab]'

begin
plant core/loose/thing.h '#pragma once'
refused "a folder without a floor" 'core/loose/thing.h: belongs to no floor'

begin
plant plugins/cpu/kernel/tensor.h '#include "core/base/text.h"'
refused "a plugin that includes the core" 'plugins/cpu/kernel/tensor.h'

begin
plant host/cli/main.cpp '#include "core/base/text.h"'
refused "a command line that looks into the library" 'host/cli/main.cpp'

begin
plant core/graph/graph.h '#include <google/protobuf/message.h>'
refused "protobuf outside of core/onnx" 'core/graph/graph.h'

echo "every breach was seen"
