// Kernel: a compiled partition, ready to run.
//
//   class Scale : public kit::Kernel {
//    public:
//     void Execute(const kit::Run& run) override { … }        // from many threads at once
//   };
//
//   // Memory for each Execute, which the host pools and reuses:
//   struct Scratch {
//     std::vector<float> rows;
//   };
//   class Sorted : public kit::StatefulKernel<Scratch> {
//    public:
//     void Execute(const kit::Run& run, Scratch& scratch) override { … }
//   };
#pragma once

#include <memory>

#include "epiphyte/ep_provider.h"
#include "epiphyte/kit/abi/run.hpp"

namespace epiphyte::kit {

// State that one Execute uses at a time; see StatefulKernel.
class KernelState {
 public:
  virtual ~KernelState() = default;
};

class Kernel {
 public:
  virtual ~Kernel() = default;

  // Sets every output. Called from many threads at once.
  virtual void Execute(const Run& run) = 0;

  // Fills in where the kernel's values can be, and whether it is ASYNC or exclusive; see EpKernelInfo. Called once. The
  // arrays live as long as the kernel. Default: values are in host memory, and all work is done when Execute returns.
  virtual void Describe(EpKernelInfo* info) const { (void)info; }
  // True: no other Execute of this provider, on any kernel, runs at the same time. Override it for a device with one
  // queue. Called once.
  virtual bool IsExclusive() const { return false; }

  // Makes a state for kernels that use one (see StatefulKernel). Null: the kernel has none.
  virtual std::unique_ptr<KernelState> CreateState() const { return nullptr; }
  // `state` is a result of CreateState; null when that returned null.
  virtual void ExecuteWithState(const Run& run, KernelState* state) {
    (void)state;
    Execute(run);
  }
};

// A kernel with a State for each Execute. No two concurrent Executes use the same State.
template <typename State>
class StatefulKernel : public Kernel {
 public:
  virtual void Execute(const Run& run, State& state) = 0;
  // Default: a value-initialized State.
  virtual std::unique_ptr<State> MakeState() const { return std::make_unique<State>(); }

  // Makes a State for this call, for a caller that has none.
  void Execute(const Run& run) final {
    const std::unique_ptr<State> state = MakeState();
    Execute(run, *state);
  }
  std::unique_ptr<KernelState> CreateState() const final { return std::make_unique<Held>(MakeState()); }
  void ExecuteWithState(const Run& run, KernelState* state) final {
    state == nullptr ? Execute(run) : Execute(run, *static_cast<Held*>(state)->state);
  }

 private:
  struct Held final : KernelState {
    explicit Held(std::unique_ptr<State> made) : state(std::move(made)) {}
    std::unique_ptr<State> state;
  };
};

}  // namespace epiphyte::kit
