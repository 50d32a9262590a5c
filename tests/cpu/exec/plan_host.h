// A minimal host for plans: statuses, one thread, and inputs, constants and outputs in guarded memory. PlanBuilder
// writes plans by hand, PlanRunner runs them.
//
//     PlanBuilder b;
//     int32_t x = b.Input({4});
//     b.Output(b.Node("Relu", 14, {x}, {4}));
//     PlanRunner runner(b.Take());
//     EXPECT_THAT(runner.Run({{-1, 2, -3, 4}}), ElementsAre(0, 2, 0, 4));
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "plugins/cpu/exec/frame.h"
#include "plugins/cpu/exec/plan.h"
#include "tests/cpu/kernel_harness.h"

namespace epiphyte::test {

// The host's tables; an EpRun must be a FakeRun.
const EpHostInfo* FakeHost();

struct FakeRun {
  std::vector<EpTensorView> tensors;
  std::vector<EpValueView> views;
  std::vector<const EpValueView*> inputs;
  struct Output {
    int allocations = 0;
    std::vector<int64_t> dims;
    std::shared_ptr<void> memory;  // guarded memory that the plan writes the output to
    uint64_t bytes = 0;            // size of the output in bytes
    std::vector<float> data;       // a copy of the output after the run, if its type is float
  };
  std::vector<Output> outputs;
};

class PlanBuilder {
 public:
  int32_t Value(std::vector<int64_t> dims);
  int32_t Input(std::vector<int64_t> dims);
  int32_t Constant(std::vector<int64_t> dims, std::vector<float> data);
  // Adds a node with one float output of the given shape, and returns the output.
  int32_t Node(std::string op_type, int64_t version, std::vector<int32_t> inputs, std::vector<int64_t> output_dims,
               std::vector<kit::ir::Attribute> attributes = {});
  void Output(int32_t value) { def_.outputs.push_back(value); }
  kit::ir::Value& Info(int32_t value) { return def_.values[static_cast<size_t>(value)]; }
  // Returns the graph. Its constants are borrowed from the builder, as from a host, until the plan is built.
  kit::ir::Graph Take() { return std::move(def_); }

 private:
  kit::ir::Graph def_;
};

class PlanRunner {
 public:
  // `fused`: run the plugin's fusions first. `threads`: number of threads that work is cut for; one thread does it all.
  explicit PlanRunner(kit::ir::Graph def, bool fused = true, std::vector<kit::PackedData> packed = {},
                      cpu::PlanOrigin origin = cpu::PlanOrigin::kMadeNow, bool bfloat16 = false,
                      bool split_floats = false, uint32_t threads = 1);

  // Runs the plan and returns its first output. Inputs have their declared shapes unless `dims` gives others.
  std::vector<float> Run(std::vector<std::vector<float>> inputs, std::vector<std::vector<int64_t>> dims = {});
  const FakeRun& last_run() const { return run_; }
  const cpu::Plan& plan() const { return *plan_; }
  size_t frame_count() const { return frames_.size(); }

 private:
  std::unique_ptr<cpu::Plan> plan_;
  std::vector<std::unique_ptr<cpu::Frame>> frames_;
  FakeRun run_;
};

// Returns the operators of a graph in order, as "Conv Relu …". Operators of the kit's domain have a "*".
std::string Operators(const kit::ir::Graph& def);

}  // namespace epiphyte::test
