// Kernel: a compiled partition, ready to run.
//
//   class Scale : public kit::Kernel {
//    public:
//     void Execute(const kit::Run& run) override { … }        // from many threads at once
//   };
//
//   // With memory of its own for each Execute, which the host keeps and hands out again:
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

// What one Execute at a time uses; see StatefulKernel.
class KernelState {
 public:
  virtual ~KernelState() = default;
};

class Kernel {
 public:
  virtual ~Kernel() = default;

  // Sets every output. Called from many threads at once.
  virtual void Execute(const Run& run) = 0;

  // Where its values can be, whether it is ASYNC or exclusive; see EpKernelInfo. Asked once; the arrays live as long as
  // the kernel. As a default, values are in host memory, and all is done when Execute returns.
  virtual void Describe(EpKernelInfo* info) const { (void)info; }
  // True: no other Execute of this provider runs at the same time, on this kernel or another. For a device with one
  // queue. Asked once.
  virtual bool IsExclusive() const { return false; }

  // Of kernels with states: see StatefulKernel. Null: it has none.
  virtual std::unique_ptr<KernelState> CreateState() const { return nullptr; }
  // `state`: what CreateState made, null when it made none.
  virtual void ExecuteWithState(const Run& run, KernelState* state) {
    (void)state;
    Execute(run);
  }
};

// A kernel each Execute of which uses a State that no other uses at the same time.
template <typename State>
class StatefulKernel : public Kernel {
 public:
  virtual void Execute(const Run& run, State& state) = 0;
  // As a default, default-constructed.
  virtual std::unique_ptr<State> MakeState() const { return std::make_unique<State>(); }

  // For a caller that has no state at hand.
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
