// Pipeline: runs the passes of this folder (passes.hpp) on a graph, in their one order. A provider says which passes it
// declines and what it has kernels for; it runs every other pass, also those that are added later.
//
//   fuse::PipelineOptions options;
//   options.declined = {{fuse::Pass::kFuseMish, "Elementwise computes its operators in one loop as well"}};
//   options.passes.takes_type = [](EpElementType type) { return type == EP_TYPE_FLOAT16; };
//   options.accepts = [](const ir::Graph& graph) { return HaveKernels(graph); };
//   fuse::Pipeline(options).Run(graph);
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "epiphyte/kit/fuse/passes.hpp"
#include "epiphyte/kit/graph/ir.hpp"

namespace epiphyte::kit::fuse {

struct DeclinedPass {
  Pass pass;
  std::string_view why;  // one line for the reader
};

struct PipelineOptions {
  PassOptions passes;
  std::vector<DeclinedPass> declined;
  // Returns whether the provider has an operator for every node of a graph. If it refuses the result of all passes,
  // they run again one by one, and each pass is taken back if its result is refused. Empty: every result is kept.
  std::function<bool(const ir::Graph& graph)> accepts;
};

class Pipeline {
 public:
  explicit Pipeline(PipelineOptions options);

  const PipelineOptions& options() const { return options_; }
  // The passes that run, in order.
  std::span<const Pass> passes() const { return passes_; }
  // Rewrites a graph and returns the passes that were taken back. Depends on nothing but the graph and the options, so
  // equal graphs become equal graphs.
  std::vector<Pass> Run(ir::Graph& graph) const;

 private:
  void Apply(std::span<const Pass> passes, ir::Graph& graph) const;

  PipelineOptions options_;
  std::vector<Pass> passes_;
};

}  // namespace epiphyte::kit::fuse
