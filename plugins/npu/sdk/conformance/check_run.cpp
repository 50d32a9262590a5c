// Checks of the rules on executions: bindings, runs, and several executions at once.
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "guarded_bytes.h"
#include "rules.h"
#include "test_graph.h"

namespace epiphyte::nsdk_conformance {
namespace {

// A program of a small graph with one input and one output, and the expected outputs for some inputs.
struct Ready {
  explicit Ready(Sdk& sdk)
      : context(Begin(sdk)),
        graph(sdk.SmallGraph(context.get())),
        program(sdk.Load(context.get(), sdk.BlobOf(context.get(), graph))) {
    for (uint32_t i = 0; i < 4; ++i) {
      inputs.push_back(RandomInputs(graph, 100 + i)[0]);
      expected.push_back(sdk.RunOnce(program.get(), 0, graph, {inputs[i]})[0]);
    }
  }
  static Context Begin(Sdk& sdk) {
    sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
    return sdk.MakeContext();
  }
  Execution Bound(Sdk& sdk, const Bytes& input, Bytes& output) const {
    Execution execution = sdk.MakeExecution(program.get());
    output.resize(expected[0].size());
    sdk.Bind(execution.get(), NSDK_INPUT, 0, input.data(), input.size());
    sdk.Bind(execution.get(), NSDK_OUTPUT, 0, output.data(), output.size());
    return execution;
  }

  Context context;
  TestGraph graph;
  Program program;
  std::vector<Bytes> inputs, expected;
};

NsdkStatus TryToBind(Sdk& sdk, NsdkExecution* execution, uint32_t direction, uint32_t index, void* address,
                     uint64_t size) {
  NsdkBinding binding = {};
  binding.struct_size = sizeof binding;
  binding.host_address = address;
  binding.size = size;
  return sdk.api().exec_bind(execution, direction, index, &binding, nullptr);
}

}  // namespace

void BadBindingsAreRefused(Sdk& sdk) {
  const Ready ready(sdk);
  Bytes output;
  const Execution execution = ready.Bound(sdk, ready.inputs[0], output);
  Bytes other_input = ready.inputs[1], other_output(output.size());
  for (const uint64_t size : {uint64_t{0}, uint64_t{1}, uint64_t{other_input.size() - 1}}) {
    const NsdkStatus status = TryToBind(sdk, execution.get(), NSDK_INPUT, 0, other_input.data(), size);
    Expect(status == NSDK_INVALID_ARGUMENT, "an input of {} bytes bound to {}: {}", other_input.size(), size,
           NameOf(status));
  }
  NsdkStatus status = TryToBind(sdk, execution.get(), NSDK_OUTPUT, 0, other_output.data(), other_output.size() - 1);
  Expect(status == NSDK_INVALID_ARGUMENT, "an output of {} bytes bound to one less: {}", other_output.size(),
         NameOf(status));
  status = TryToBind(sdk, execution.get(), NSDK_OUTPUT, 0, nullptr, other_output.size());
  Expect(status == NSDK_INVALID_ARGUMENT, "an output bound to no address: {}", NameOf(status));
  sdk.Run(execution.get());
  Expect(output == ready.expected[0], "a run after refused bindings doesn't use what was bound before");
}

void UnboundRunIsRefused(Sdk& sdk) {
  const Ready ready(sdk);
  Bytes input = ready.inputs[0], output(ready.expected[0].size());
  for (const bool with_input : {false, true}) {
    const Execution execution = sdk.MakeExecution(ready.program.get());
    if (with_input) sdk.Bind(execution.get(), NSDK_INPUT, 0, input.data(), input.size());
    const NsdkStatus status = sdk.api().run(execution.get(), nullptr, nullptr);
    Expect(status == NSDK_INVALID_ARGUMENT, "a run with {} bound returned {}",
           with_input ? "only the input" : "nothing", NameOf(status));
  }
  const Execution execution = sdk.MakeExecution(ready.program.get());
  sdk.Bind(execution.get(), NSDK_OUTPUT, 0, output.data(), output.size());
  const NsdkStatus status = sdk.api().run(execution.get(), nullptr, nullptr);
  Expect(status == NSDK_INVALID_ARGUMENT, "a run with only the output bound returned {}", NameOf(status));
}

void BadIndicesAreRefused(Sdk& sdk) {
  const Ready ready(sdk);
  for (const uint32_t graph : {1u, 2u, UINT32_MAX}) {
    NsdkExecution* execution = nullptr;
    const NsdkStatus status = sdk.api().exec_create(ready.program.get(), graph, &execution, nullptr);
    if (status == NSDK_OK) sdk.api().exec_destroy(execution);
    Expect(status == NSDK_INVALID_ARGUMENT, "exec_create of graph {} of one: {}", graph, NameOf(status));
  }
  Bytes output, bytes(10000);
  const Execution execution = ready.Bound(sdk, ready.inputs[0], output);
  const std::pair<uint32_t, uint32_t> places[] = {
      {NSDK_INPUT, 1}, {NSDK_OUTPUT, 1}, {NSDK_INPUT, UINT32_MAX}, {2, 0}, {UINT32_MAX, 0}};
  for (const auto& [direction, index] : places) {
    const NsdkStatus status = TryToBind(sdk, execution.get(), direction, index, bytes.data(), bytes.size());
    Expect(status == NSDK_INVALID_ARGUMENT, "exec_bind of direction {} and index {}: {}", direction, index,
           NameOf(status));
  }
}

void BusyExecution(Sdk& sdk) {
  const Context context = sdk.MakeContext();
  const TestGraph graph = sdk.LargeGraph(context.get());
  const Program program = sdk.Load(context.get(), sdk.BlobOf(context.get(), graph));
  const Execution execution = sdk.MakeExecution(program.get());
  const std::vector<Bytes> inputs = RandomInputs(graph, 1);
  Bytes output(graph.tensors[graph.outputs[0]].Size());
  sdk.Bind(execution.get(), NSDK_INPUT, 0, inputs[0].data(), inputs[0].size());
  sdk.Bind(execution.get(), NSDK_OUTPUT, 0, output.data(), output.size());
  // While the run reports progress, another thread tries to run and to bind the same execution.
  struct State {
    Sdk& sdk;
    NsdkExecution* execution;
    Bytes& output;
    bool asked = false;
    std::atomic<bool> over = false;
    NsdkStatus run = NSDK_OK, bind = NSDK_OK;
    std::thread other;
  } state{sdk, execution.get(), output, false, false, NSDK_OK, NSDK_OK, {}};
  NsdkTask task = {};
  task.struct_size = sizeof task;
  task.user = &state;
  task.progress = [](void* user, double, const char*) -> int32_t {
    State& self = *static_cast<State*>(user);
    if (self.asked) return 0;
    self.asked = true;
    self.other = std::thread([&self] {
      self.run = self.sdk.api().run(self.execution, nullptr, nullptr);
      self.bind = TryToBind(self.sdk, self.execution, NSDK_OUTPUT, 0, self.output.data(), self.output.size());
      self.over = true;
    });
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!self.over && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return 0;
  };
  const NsdkStatus status = sdk.api().run(execution.get(), &task, nullptr);
  const bool in_time = state.over;
  if (state.other.joinable()) state.other.join();
  Need(status == NSDK_OK, "run returned {}", NameOf(status));
  if (!state.asked) throw NotApplicable{"run is so short that it doesn't call progress"};
  Expect(in_time, "run of an execution that is running waits, expected NSDK_BUSY at once");
  Expect(state.run == NSDK_BUSY, "run of an execution that is running returned {}", NameOf(state.run));
  Expect(state.bind == NSDK_BUSY, "exec_bind of an execution that is running returned {}", NameOf(state.bind));
}

void OutputsAreWhole(Sdk& sdk) {
  const Ready ready(sdk);
  const Execution execution = sdk.MakeExecution(ready.program.get());
  sdk.Bind(execution.get(), NSDK_INPUT, 0, ready.inputs[0].data(), ready.inputs[0].size());
  for (const uint8_t pattern : {0x00, 0xFF, 0xA5}) {
    const GuardedBytes output(ready.expected[0].size());
    std::memset(output.data(), pattern, output.size());
    std::memset(output.before().data(), pattern, output.before().size());
    sdk.Bind(execution.get(), NSDK_OUTPUT, 0, output.data(), output.size());
    sdk.Run(execution.get());
    Expect(std::memcmp(output.data(), ready.expected[0].data(), output.size()) == 0,
           "the outputs depend on what was in their memory before");
    for (const uint8_t byte : output.before()) Expect(byte == pattern, "bytes before the output were written");
  }
}

void InputsAreOnlyRead(Sdk& sdk) {
  const Ready ready(sdk);
  GuardedBytes input{ready.inputs[0]};
  input.Protect();
  const Execution execution = sdk.MakeExecution(ready.program.get());
  Bytes output(ready.expected[0].size());
  sdk.Bind(execution.get(), NSDK_INPUT, 0, input.data(), input.size());
  sdk.Bind(execution.get(), NSDK_OUTPUT, 0, output.data(), output.size());
  sdk.Run(execution.get());
  Expect(output == ready.expected[0], "from memory that can only be read a run gives other numbers");
}

void HostAddressesAreAnywhere(Sdk& sdk) {
  const Ready ready(sdk);
  const Execution execution = sdk.MakeExecution(ready.program.get());
  for (const size_t offset : {1u, 3u, 7u, 64u}) {
    Bytes input(ready.inputs[0].size() + 64), output(ready.expected[0].size() + 64);
    std::copy(ready.inputs[0].begin(), ready.inputs[0].end(), input.begin() + static_cast<std::ptrdiff_t>(offset));
    // Bindings may be larger than needed.
    NsdkStatus status = TryToBind(sdk, execution.get(), NSDK_INPUT, 0, input.data() + offset, input.size() - offset);
    Expect(status == NSDK_OK, "an input bound {} bytes behind an aligned address: {}", offset, NameOf(status));
    status = TryToBind(sdk, execution.get(), NSDK_OUTPUT, 0, output.data() + offset, output.size() - offset);
    Expect(status == NSDK_OK, "an output bound {} bytes behind an aligned address: {}", offset, NameOf(status));
    sdk.Run(execution.get());
    Expect(std::equal(ready.expected[0].begin(), ready.expected[0].end(),
                      output.begin() + static_cast<std::ptrdiff_t>(offset)),
           "{} bytes behind an aligned address a run gives other numbers", offset);
  }
}

void SameBits(Sdk& sdk) {
  const Ready ready(sdk);
  Bytes output, other_output;
  const Execution execution = ready.Bound(sdk, ready.inputs[0], output),
                  other = ready.Bound(sdk, ready.inputs[0], other_output);
  for (int i = 0; i < 10; ++i) {
    std::fill(output.begin(), output.end(), 0);
    sdk.Run(execution.get());
    sdk.Run(other.get());
    Expect(output == ready.expected[0], "run {} of an execution gives other numbers than the first", i + 1);
    Expect(other_output == output, "two executions give different numbers");
  }
}

void FourAtOnce(Sdk& sdk) {
  const Ready ready(sdk);
  std::vector<Bytes> outputs(4);
  std::vector<Execution> executions;
  for (size_t i = 0; i < 4; ++i) executions.push_back(ready.Bound(sdk, ready.inputs[i], outputs[i]));
  std::vector<std::string> wrong(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int run = 0; run < 100 && wrong[i].empty(); ++run) {
        std::fill(outputs[i].begin(), outputs[i].end(), 0);
        const NsdkStatus status = sdk.api().run(executions[i].get(), nullptr, nullptr);
        if (status != NSDK_OK) wrong[i] = NameOf(status);
        if (status == NSDK_OK && outputs[i] != ready.expected[i]) wrong[i] = "other numbers than alone";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& one : wrong) Expect(one.empty(), "one of four executions that run at once: {}", one);
}

void BoundAnew(Sdk& sdk) {
  const Ready ready(sdk);
  Bytes first, second(ready.expected[0].size());
  const Execution execution = ready.Bound(sdk, ready.inputs[0], first);
  sdk.Run(execution.get());
  const Bytes kept = first;
  Bytes input = ready.inputs[1];
  sdk.Bind(execution.get(), NSDK_INPUT, 0, input.data(), input.size());
  sdk.Bind(execution.get(), NSDK_OUTPUT, 0, second.data(), second.size());
  sdk.Run(execution.get());
  Expect(second == ready.expected[1], "a run doesn't use what was bound anew");
  Expect(first == kept, "a run writes to what was bound before");
  // The memory is read by the run, not when it is bound.
  std::copy(ready.inputs[2].begin(), ready.inputs[2].end(), input.begin());
  sdk.Run(execution.get());
  Expect(second == ready.expected[2], "a run doesn't see what is in a bound input now");
}

}  // namespace epiphyte::nsdk_conformance
