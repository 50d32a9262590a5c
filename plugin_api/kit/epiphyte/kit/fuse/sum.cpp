#include "epiphyte/kit/fuse/sum.hpp"

#include <utility>

namespace epiphyte::kit::fuse {

void SumsToAdditions(ir::Editor& editor) {
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    if (!editor.Is(n, "Sum")) continue;
    const ir::Node& sum = editor.node(n);
    if (sum.inputs.size() != 2 || sum.inputs[0] < 0 || sum.inputs[1] < 0 || sum.outputs.size() != 1) continue;
    ir::Node add;
    add.op_type = "Add";
    add.since_version = 14;
    add.name = sum.name;
    add.inputs = sum.inputs;
    add.outputs = sum.outputs;
    editor.Replace(n, std::move(add));
  }
}

}  // namespace epiphyte::kit::fuse
