// Checks of the rules on optional capabilities other than compiling and groups: memory, asynchronous runs, counters.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "rules.h"
#include "test_graph.h"

namespace epiphyte::nsdk_conformance {
namespace {

struct Ready {
  Ready(Sdk& sdk, uint64_t capability, const char* what, bool large = false)
      : context(Begin(sdk, capability, what)),
        graph(large ? sdk.LargeGraph(context.get()) : sdk.SmallGraph(context.get())),
        blob(sdk.BlobOf(context.get(), graph)),
        program(sdk.Load(context.get(), blob)),
        input(RandomInputs(graph, 4)[0]),
        expected(sdk.RunOnce(program.get(), 0, graph, {input})[0]),
        output(expected.size()) {}
  static Context Begin(Sdk& sdk, uint64_t capability, const char* what) {
    sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
    sdk.Require(capability, what);
    return sdk.MakeContext();
  }
  Execution Bound(Sdk& sdk) {
    Execution execution = sdk.MakeExecution(program.get());
    sdk.Bind(execution.get(), NSDK_INPUT, 0, input.data(), input.size());
    sdk.Bind(execution.get(), NSDK_OUTPUT, 0, output.data(), output.size());
    return execution;
  }

  Context context;
  TestGraph graph;
  Bytes blob;
  Program program;
  Bytes input, expected, output;
};

#define NSDK_READY_WITH(bit) sdk, bit, #bit

NsdkMemoryOptions MemoryOptions(uint32_t kind, uint64_t size) {
  NsdkMemoryOptions options = {};
  options.struct_size = sizeof options;
  options.kind = kind;
  options.size = size;
  options.fd = -1;
  return options;
}

Memory MakeMemory(Sdk& sdk, NsdkContext* context, NsdkMemoryOptions& options) {
  NsdkMemory* memory = nullptr;
  NsdkReason reason = EmptyReason();
  const NsdkStatus status = sdk.api().mem_create(context, &options, &memory, &reason);
  Expect(status == NSDK_OK && memory != nullptr, "mem_create of {} bytes of kind {} returned {}: {}", options.size,
         options.kind, NameOf(status), reason.text);
  return {memory, sdk.api().mem_destroy};
}

NsdkStatus TryToBind(Sdk& sdk, NsdkExecution* execution, uint32_t direction, NsdkMemory* memory, uint64_t offset,
                     uint64_t size) {
  NsdkBinding binding = {};
  binding.struct_size = sizeof binding;
  binding.memory = memory;
  binding.offset = offset;
  binding.size = size;
  return sdk.api().exec_bind(execution, direction, 0, &binding, nullptr);
}

size_t Page() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

// A memory that holds the input and, behind it, the output: the output's offset and the size of the memory.
struct Layout {
  explicit Layout(const Ready& ready)
      : output((ready.input.size() / 4096 + 1) * 4096),
        size(((output + ready.expected.size()) / Page() + 1) * Page()) {}
  size_t output, size;
};

// Runs with input and output in one memory, which the host sees at `address`.
void RunIn(Sdk& sdk, const Ready& ready, NsdkMemory* memory, uint8_t* address, const char* what) {
  const Layout layout(ready);
  const Execution execution = sdk.MakeExecution(ready.program.get());
  for (int i = 0; i < 2; ++i) {
    std::memcpy(address, ready.input.data(), ready.input.size());
    std::memset(address + layout.output, i, ready.expected.size());
    NsdkStatus status = TryToBind(sdk, execution.get(), NSDK_INPUT, memory, 0, ready.input.size());
    Expect(status == NSDK_OK, "{} bound as an input: {}", what, NameOf(status));
    status = TryToBind(sdk, execution.get(), NSDK_OUTPUT, memory, layout.output, ready.expected.size());
    Expect(status == NSDK_OK, "{} bound as an output at {}: {}", what, layout.output, NameOf(status));
    status = sdk.api().run(execution.get(), nullptr, nullptr);
    Expect(status == NSDK_OK, "a run in {} returned {}", what, NameOf(status));
    Expect(std::memcmp(address + layout.output, ready.expected.data(), ready.expected.size()) == 0,
           "a run in {} gives other numbers", what);
  }
}

// Completion state of a run that was started.
struct Done {
  std::atomic<int> calls = 0;
  std::atomic<NsdkStatus> status = NSDK_OK;
  static void Call(void* user, NsdkStatus status) {
    Done& self = *static_cast<Done*>(user);
    self.status = status;
    ++self.calls;
  }
};

void Start(Sdk& sdk, NsdkExecution* execution, Done* done) {
  const NsdkStatus status = sdk.api().run_async(execution, done == nullptr ? nullptr : Done::Call, done, nullptr);
  Expect(status == NSDK_OK, "run_async returned {}", NameOf(status));
}

NsdkCounters CountersOf(Sdk& sdk, NsdkExecution* execution) {
  NsdkCounters counters = {};
  counters.struct_size = sizeof counters;
  const NsdkStatus status = sdk.api().get_counters(execution, &counters);
  Expect(status == NSDK_OK, "get_counters returned {}", NameOf(status));
  return counters;
}

}  // namespace

void AllocatedMemory(Sdk& sdk) {
  const Ready ready(NSDK_READY_WITH(NSDK_CAN_BIND_MEMORY));
  NsdkMemoryOptions options = MemoryOptions(NSDK_ALLOCATE, Layout(ready).size);
  const Memory memory = MakeMemory(sdk, ready.context.get(), options);
  Expect(options.address != nullptr, "allocated memory has no address");
  RunIn(sdk, ready, memory.get(), static_cast<uint8_t*>(options.address), "allocated memory");
}

void ImportedMemory(Sdk& sdk) {
  const Ready ready(NSDK_READY_WITH(NSDK_CAN_BIND_MEMORY));
  const size_t size = Layout(ready).size;
  void* mine = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Need(mine != MAP_FAILED, "no memory for a check");
  NsdkMemoryOptions options = MemoryOptions(NSDK_IMPORT_HOST, size);
  options.address = mine;
  {
    const Memory memory = MakeMemory(sdk, ready.context.get(), options);
    RunIn(sdk, ready, memory.get(), static_cast<uint8_t*>(mine), "imported memory");
  }
  // The imported memory still belongs to the caller.
  std::memset(mine, 1, size);
  munmap(mine, size);
}

void ImportedDescriptor(Sdk& sdk) {
  const Ready ready(NSDK_READY_WITH(NSDK_CAN_BIND_MEMORY));
  const size_t size = Layout(ready).size, offset = Page();
  const int file = memfd_create("nsdk", 0);
  Need(file >= 0 && ftruncate(file, static_cast<off_t>(offset + size)) == 0, "no memory file for a check");
  void* mine = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(offset));
  Need(mine != MAP_FAILED, "no memory for a check");
  NsdkMemoryOptions options = MemoryOptions(NSDK_IMPORT_FD, size);
  options.fd = file;
  options.offset = offset;
  const Memory memory = MakeMemory(sdk, ready.context.get(), options);
  Expect(close(file) == 0, "the SDK closed the file descriptor");
  RunIn(sdk, ready, memory.get(), static_cast<uint8_t*>(mine), "a descriptor's memory");
  munmap(mine, size);
}

void BadMemoryIsRefused(Sdk& sdk) {
  const Ready ready(NSDK_READY_WITH(NSDK_CAN_BIND_MEMORY));
  const int small = memfd_create("nsdk", 0);
  Need(small >= 0 && ftruncate(small, 100) == 0, "no memory file for a check");
  NsdkMemoryOptions beyond = MemoryOptions(NSDK_IMPORT_FD, Page());
  beyond.fd = small;
  NsdkMemoryOptions wrapping = MemoryOptions(NSDK_IMPORT_FD, UINT64_MAX - Page() + 1);
  wrapping.fd = small;
  wrapping.offset = 2 * Page();
  const std::pair<const char*, NsdkMemoryOptions> bad[] = {
      {"of kind 99", MemoryOptions(99, 4096)},
      {"of 0 bytes", MemoryOptions(NSDK_ALLOCATE, 0)},
      {"imported from no address", MemoryOptions(NSDK_IMPORT_HOST, 4096)},
      {"of no file", MemoryOptions(NSDK_IMPORT_FD, 4096)},
      {"beyond its file", beyond},
      {"with an offset and a size that overflow", wrapping}};
  for (const auto& [what, wanted] : bad) {
    NsdkMemoryOptions options = wanted;
    NsdkMemory* memory = nullptr;
    const NsdkStatus status = sdk.api().mem_create(ready.context.get(), &options, &memory, nullptr);
    if (status == NSDK_OK) sdk.api().mem_destroy(memory);
    Expect(status == NSDK_INVALID_ARGUMENT, "memory {}: {}", what, NameOf(status));
  }
  close(small);
}

void BeyondMemoryIsRefused(Sdk& sdk) {
  const Ready ready(NSDK_READY_WITH(NSDK_CAN_BIND_MEMORY));
  const uint64_t size = Layout(ready).size, input = ready.input.size();
  const uint64_t alignment = sdk.TargetOf(ready.context.get()).memory_alignment;
  NsdkMemoryOptions options = MemoryOptions(NSDK_ALLOCATE, size);
  const Memory memory = MakeMemory(sdk, ready.context.get(), options);
  const Execution execution = sdk.MakeExecution(ready.program.get());
  const uint64_t overflowing = UINT64_MAX / alignment * alignment;
  for (const auto& [offset, length] :
       {std::pair<uint64_t, uint64_t>{size, input}, {0, size + 1}, {overflowing, input}, {alignment, UINT64_MAX}}) {
    const NsdkStatus status = TryToBind(sdk, execution.get(), NSDK_INPUT, memory.get(), offset, length);
    Expect(status == NSDK_INVALID_ARGUMENT, "{} bytes at {} of a memory of {}: {}", length, offset, size,
           NameOf(status));
  }
}

void MisalignedBindingIsRefused(Sdk& sdk) {
  const Ready ready(NSDK_READY_WITH(NSDK_CAN_BIND_MEMORY));
  const uint64_t alignment = sdk.TargetOf(ready.context.get()).memory_alignment;
  if (alignment == 1) throw NotApplicable{"memory_alignment is 1"};
  NsdkMemoryOptions options = MemoryOptions(NSDK_ALLOCATE, Layout(ready).size);
  const Memory memory = MakeMemory(sdk, ready.context.get(), options);
  const Execution execution = sdk.MakeExecution(ready.program.get());
  for (const uint64_t offset : {uint64_t{1}, alignment / 2, alignment + 1}) {
    const NsdkStatus status = TryToBind(sdk, execution.get(), NSDK_INPUT, memory.get(), offset, ready.input.size());
    Expect(status == NSDK_INVALID_ARGUMENT, "an input at {} of a memory, where memory_alignment is {}: {}", offset,
           alignment, NameOf(status));
  }
}

void DoneIsCalledOnce(Sdk& sdk) {
  Ready ready(NSDK_READY_WITH(NSDK_CAN_RUN_ASYNC));
  const Execution execution = ready.Bound(sdk);
  for (int i = 0; i < 50; ++i) {
    std::fill(ready.output.begin(), ready.output.end(), 0);
    Done done;
    Start(sdk, execution.get(), &done);
    const NsdkStatus status = sdk.api().wait(execution.get(), nullptr);
    Expect(status == NSDK_OK, "wait returned {}", NameOf(status));
    Expect(done.calls == 1 && done.status == status, "when wait returned, done was called {} times, with {}",
           done.calls.load(), NameOf(done.status));
    Expect(ready.output == ready.expected, "a run that was started gives other numbers");
  }
}

void WaitWithoutRun(Sdk& sdk) {
  Ready ready(NSDK_READY_WITH(NSDK_CAN_RUN_ASYNC));
  const Execution execution = ready.Bound(sdk);
  const NsdkStatus status = sdk.api().wait(execution.get(), nullptr);
  Expect(status == NSDK_INVALID_ARGUMENT, "wait of an execution that never ran returned {}", NameOf(status));
}

void DestroyWaits(Sdk& sdk) {
  Ready ready(NSDK_READY_WITH(NSDK_CAN_RUN_ASYNC), true);
  for (int i = 0; i < 2; ++i) {
    Execution execution = ready.Bound(sdk);
    std::fill(ready.output.begin(), ready.output.end(), 0);
    Done done;
    Start(sdk, execution.get(), &done);
    execution.reset();
    Expect(done.calls >= 1, "when exec_destroy returned, done of its run was called {} times", done.calls.load());
    Expect(ready.output == ready.expected, "when exec_destroy returned, its run wasn't over");
  }
}

void BusyWhileAsync(Sdk& sdk) {
  Ready ready(NSDK_READY_WITH(NSDK_CAN_RUN_ASYNC), true);
  const Execution execution = ready.Bound(sdk);
  for (int i = 0; i < 2; ++i) {
    Done done;
    Start(sdk, execution.get(), &done);
    const NsdkStatus status = sdk.api().run(execution.get(), nullptr, nullptr);
    const bool over = done.calls == 1;
    sdk.api().wait(execution.get(), nullptr);
    Expect(status == NSDK_BUSY || (status == NSDK_OK && over), "run of an execution whose run was started returned {}",
           NameOf(status));
  }
}

void DoneIsNull(Sdk& sdk) {
  Ready ready(NSDK_READY_WITH(NSDK_CAN_RUN_ASYNC));
  const Execution execution = ready.Bound(sdk);
  Start(sdk, execution.get(), nullptr);
  const NsdkStatus status = sdk.api().wait(execution.get(), nullptr);
  Expect(status == NSDK_OK, "wait returned {}", NameOf(status));
  Expect(ready.output == ready.expected, "a run that was started without done gives other numbers");
}

void CountersAreAFunction(Sdk& sdk) {
  Ready ready(NSDK_READY_WITH(NSDK_CAN_COUNT));
  const Execution execution = ready.Bound(sdk);
  sdk.Run(execution.get());
  const NsdkCounters first = CountersOf(sdk, execution.get());
  for (int i = 0; i < 4; ++i) {
    sdk.Run(execution.get());
    const NsdkCounters again = CountersOf(sdk, execution.get());
    Expect(std::memcmp(&first, &again, sizeof first) == 0,
           "{} cycles at the first run, {} at run {}, or another counter differs", first.npu_total_cycles,
           again.npu_total_cycles, i + 2);
  }
  const Context other = sdk.MakeContext();
  const Program reloaded = sdk.Load(other.get(), ready.blob);
  const Execution fresh = sdk.MakeExecution(reloaded.get());
  const Bytes zeros(ready.input.size());
  sdk.Bind(fresh.get(), NSDK_INPUT, 0, zeros.data(), zeros.size());
  sdk.Bind(fresh.get(), NSDK_OUTPUT, 0, ready.output.data(), ready.output.size());
  sdk.Run(fresh.get());
  const NsdkCounters again = CountersOf(sdk, fresh.get());
  Expect(first.npu_total_cycles == again.npu_total_cycles,
         "{} cycles, and {} when the blob is loaded anew and has other inputs", first.npu_total_cycles,
         again.npu_total_cycles);
}

void CountersAddUp(Sdk& sdk) {
  Ready ready(NSDK_READY_WITH(NSDK_CAN_COUNT));
  const Execution execution = ready.Bound(sdk);
  sdk.Run(execution.get());
  const NsdkCounters counters = CountersOf(sdk, execution.get());
  Expect(counters.npu_total_cycles > 0, "after a run npu_total_cycles is 0");
  Expect(counters.npu_active_cycles + counters.npu_idle_cycles == counters.npu_total_cycles,
         "{} active and {} idle cycles, {} in total", counters.npu_active_cycles, counters.npu_idle_cycles,
         counters.npu_total_cycles);
}

}  // namespace epiphyte::nsdk_conformance
