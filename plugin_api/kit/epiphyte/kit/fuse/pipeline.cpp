#include "epiphyte/kit/fuse/pipeline.hpp"

#include <algorithm>
#include <utility>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

Pipeline::Pipeline(PipelineOptions options) : options_(std::move(options)) {
  for (const PassInfo& info : AllPasses())
    if (std::none_of(options_.declined.begin(), options_.declined.end(),
                     [&](const DeclinedPass& declined) { return declined.pass == info.pass; }))
      passes_.push_back(info.pass);
}

void Pipeline::Apply(std::span<const Pass> passes, ir::Graph& graph) const {
  ir::Editor editor(graph);
  for (const Pass pass : passes) InfoOf(pass).run(editor, options_.passes);
  editor.Finish();
}

std::vector<Pass> Pipeline::Run(ir::Graph& graph) const {
  if (!options_.accepts) {
    Apply(passes_, graph);
    return {};
  }
  ir::Graph all = graph;
  Apply(passes_, all);
  if (options_.accepts(all)) {
    graph = std::move(all);
    return {};
  }
  std::vector<Pass> taken_back;
  for (const Pass& pass : passes_) {
    ir::Graph tried = graph;
    Apply({&pass, 1}, tried);
    if (options_.accepts(tried)) {
      graph = std::move(tried);
    } else {
      taken_back.push_back(pass);
    }
  }
  return taken_back;
}

}  // namespace epiphyte::kit::fuse
