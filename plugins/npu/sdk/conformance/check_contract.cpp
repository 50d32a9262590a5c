// Checks of the rules for all functions: failures, threads, memory of the caller, growth of structs, lifetimes.
#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <random>
#include <thread>

#include "guarded_bytes.h"
#include "rules.h"
#include "test_graph.h"

// LeakSanitizer's check returns 1 if memory was leaked. It is null in a program without LeakSanitizer.
extern "C" int __lsan_do_recoverable_leak_check() __attribute__((weak));

namespace epiphyte::nsdk_conformance {
namespace {

template <typename T>
T* Sentinel() {
  static char there;
  return reinterpret_cast<T*>(&there);
}

// Checks that a call fails with a valid status, sets its out parameter to null and gives a reason.
template <typename T>
void ExpectWhole(const char* what, const std::function<NsdkStatus(T**, NsdkReason*)>& call) {
  T* out = Sentinel<T>();
  NsdkReason reason = EmptyReason();
  const NsdkStatus status = call(&out, &reason);
  Need(status != NSDK_OK, "{} succeeds", what);
  Expect(status > 0 && status <= NSDK_INTERNAL, "{} returned {}", what, status);
  Expect(out == nullptr, "{} failed and left its out parameter as it was", what);
  const std::string fault = FaultOf(reason);
  Expect(fault.empty(), "{} failed: {}", what, fault);
}

TestGraph UnknownGraph() {
  TestGraph graph("unknown");
  const uint32_t x = graph.AddInput({"x", NSDK_INT8, {4}, {1.0f}, {}, 0, {}});
  graph.outputs = {graph.AddTensor({"y", NSDK_INT8, {4}, {1.0f}, {}, 0, {}})};
  graph.AddOp({4711, "unknown", {x}, graph.outputs, {}, {}});
  return graph;
}

}  // namespace

void FailuresAreWhole(Sdk& sdk) {
  const NsdkApi& api = sdk.api();
  const Bytes garbage(500, 0x5A);
  ExpectWhole<NsdkContext>("context_create with an unknown option", [&](auto** out, auto* reason) {
    return sdk.CreateContext({{"no_such_option", "1"}}, NSDK_WITHOUT_DEVICE, out, reason);
  });
  ExpectWhole<const NsdkBlobInfo>("blob_info of no blob", [&](auto** out, auto* reason) {
    return api.blob_info(garbage.data(), garbage.size(), out, reason);
  });
  const Context context = sdk.MakeContext();
  ExpectWhole<NsdkProgram>("load of no blob", [&](auto** out, auto* reason) {
    return api.load(context.get(), garbage.data(), garbage.size(), nullptr, out, reason);
  });
  uint32_t verdict = 99;
  NsdkReason reason = EmptyReason();
  const NsdkStatus status = api.check_blob(context.get(), garbage.data(), garbage.size(), &verdict, &reason);
  if (status == NSDK_OK && verdict == NSDK_NOT_A_BLOB) {
    const std::string fault = FaultOf(reason);
    Expect(fault.empty(), "check_blob of no blob: {}", fault);
  }
  if (!sdk.Has(NSDK_CAN_COMPILE)) return;
  const NsdkView unknown(UnknownGraph());
  ExpectWhole<NsdkCompiled>("compile of an unknown operator", [&](auto** out, auto* why) {
    return api.compile(context.get(), unknown.get(), nullptr, out, why);
  });
  NsdkReason declined = EmptyReason();
  if (api.query_op(context.get(), unknown.get(), 0, &declined) != NSDK_OK) {
    const std::string fault = FaultOf(declined);
    Expect(fault.empty(), "query_op of an unknown operator: {}", fault);
  }
  const TestGraph graph = sdk.SmallGraph(context.get());
  const Program program = sdk.Load(context.get(), sdk.BlobOf(context.get(), graph));
  ExpectWhole<NsdkExecution>("exec_create of a graph that there isn't",
                             [&](auto** out, auto* why) { return api.exec_create(program.get(), 77, out, why); });
}

void ManyThreads(Sdk& sdk) {
  const Context context = sdk.MakeContext();
  const TestGraph graph = sdk.SmallGraph(context.get());
  const Bytes blob = sdk.BlobOf(context.get(), graph);
  const std::vector<Bytes> inputs = RandomInputs(graph, 3);
  std::vector<Bytes> expected;
  {
    const Program program = sdk.Load(context.get(), blob);
    expected = sdk.RunOnce(program.get(), 0, graph, inputs);
  }
  std::vector<std::string> wrong(4), not_reached(4);
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, one = &wrong[thread], unreached = &not_reached[thread]] {
      try {
        for (int i = 0; i < 5 && one->empty(); ++i) {
          // Every second round uses a context of its own.
          Context own;
          if (i % 2 == 1) own = sdk.MakeContext();
          NsdkContext* at = i % 2 == 1 ? own.get() : context.get();
          const Bytes again = sdk.BlobOf(at, graph);
          if (again != blob) *one = "a blob compiled beside others differs";
          sdk.InfoOf(again.data(), again.size());
          uint32_t verdict = 0;
          if (sdk.api().check_blob(at, again.data(), again.size(), &verdict, nullptr) != NSDK_OK ||
              verdict == NSDK_NOT_A_BLOB || verdict == NSDK_MUST_RECOMPILE)
            *one = "a blob checked beside others isn't optimal";
          const Program program = sdk.Load(at, again);
          if (sdk.RunOnce(program.get(), 0, graph, inputs) != expected)
            *one = "a run beside others gives other numbers";
        }
      } catch (const NotReached& error) {
        *unreached = error.why;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& one : wrong) Expect(one.empty(), "on one of four threads: {}", one);
  // A step that succeeds alone and fails here fails because of the other threads.
  const bool alone = sdk.MakeContext() != nullptr;
  for (const std::string& one : not_reached) Expect(one.empty() || !alone, "on one of four threads: {}", one);
}

void CallersMemoryIsOnlyRead(Sdk& sdk) {
  const Context context = sdk.MakeContext();
  const TestGraph graph = sdk.SmallGraph(context.get());
  const Bytes expected = sdk.BlobOf(context.get(), graph);
  NsdkCompiled* made = nullptr;
  {
    // The graph's memory is freed after the calls, so the SDK must not refer to it.
    const NsdkView view(graph, {.read_only = true});
    Need(sdk.api().query_op(context.get(), view.get(), 0, nullptr) == NSDK_OK, "query_op declines what it accepted");
    Need(sdk.api().compile(context.get(), view.get(), nullptr, &made, nullptr) == NSDK_OK, "compile fails");
  }
  const Compiled compiled(made, sdk.api().compiled_destroy);
  Expect(sdk.WriteBlob(context.get(), {&compiled}) == expected,
         "the blob is another when the graph is gone before it is written");
}

void HostileBytesReturn(Sdk& sdk) {
  const Context context = sdk.MakeContext();
  Bytes blob;
  if (sdk.Has(NSDK_CAN_COMPILE)) blob = sdk.BlobOf(context.get(), sdk.SmallGraph(context.get()));
  std::mt19937 random(11);
  for (int i = 0; i < 3000; ++i) {
    Bytes bytes(random() % (i % 2 == 0 ? 200 : 5000));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() % (i % 3 == 0 ? 4 : 256));
    if (i % 5 == 0 && !blob.empty()) {
      // A valid head is followed by random bytes.
      bytes = blob;
      const size_t head = 8 + random() % std::min<size_t>(bytes.size() - 8, 512);
      for (size_t at = head; at < bytes.size(); ++at) bytes[at] = static_cast<uint8_t>(random());
    }
    const NsdkBlobInfo* info = nullptr;
    if (sdk.api().blob_info(bytes.data(), bytes.size(), &info, nullptr) == NSDK_OK) sdk.api().blob_info_release(info);
    uint32_t verdict = 0;
    sdk.api().check_blob(context.get(), bytes.data(), bytes.size(), &verdict, nullptr);
    NsdkProgram* program = nullptr;
    const NsdkStatus status = sdk.api().load(context.get(), bytes.data(), bytes.size(), nullptr, &program, nullptr);
    if (status == NSDK_OK) sdk.api().unload(program);
    Expect(status != NSDK_OK || bytes == blob, "{} bytes of nonsense were loaded", bytes.size());
  }
}

void ShortStructsEndInZeros(Sdk& sdk) {
  const NsdkApi& api = sdk.api();
  // The bytes behind struct_size are garbage, which the SDK must not read.
  NsdkContextOptions options;
  std::memset(&options, 0xA5, sizeof options);
  options.struct_size = offsetof(NsdkContextOptions, option_count);
  options.device = sdk.FirstDevice();
  NsdkContext* made = nullptr;
  NsdkStatus status = api.context_create(&options, &made, nullptr);
  Expect(status == NSDK_OK, "context options that end behind the device: {}", NameOf(status));
  api.context_destroy(made);
  if (!sdk.Has(NSDK_CAN_COMPILE)) return;
  const Context context = sdk.MakeContext();
  const TestGraph graph = sdk.SmallGraph(context.get());
  const Bytes blob = sdk.BlobOf(context.get(), graph);
  NsdkLoadOptions load;
  std::memset(&load, 0xA5, sizeof load);
  load.struct_size = offsetof(NsdkLoadOptions, scratch);
  load.flags = 0;
  NsdkProgram* program = nullptr;
  status = api.load(context.get(), blob.data(), blob.size(), &load, &program, nullptr);
  Expect(status == NSDK_OK, "load options that end behind the flags: {}", NameOf(status));
  api.unload(program);
  NsdkTask task;
  std::memset(&task, 0xA5, sizeof task);
  task.struct_size = offsetof(NsdkTask, progress);
  const NsdkView view(graph);
  NsdkCompiled* compiled = nullptr;
  status = api.compile(context.get(), view.get(), &task, &compiled, nullptr);
  Expect(status == NSDK_OK, "a task that ends before progress: {}", NameOf(status));
  api.compiled_destroy(compiled);
}

void LongStructsInArrays(Sdk& sdk) {
  const Context context = sdk.MakeContext();
  const TestGraph graph = sdk.SmallGraph(context.get());
  const Bytes expected = sdk.BlobOf(context.get(), graph);
  const NsdkView view(graph, {.longer_by = 24});
  NsdkReason reason = EmptyReason();
  NsdkStatus status = sdk.api().query_op(context.get(), view.get(), 0, &reason);
  Expect(status == NSDK_OK, "query_op of a graph with longer structs: {}: {}", NameOf(status), reason.text);
  NsdkCompiled* made = nullptr;
  status = sdk.api().compile(context.get(), view.get(), nullptr, &made, &reason);
  Expect(status == NSDK_OK, "compile of a graph with longer structs: {}: {}", NameOf(status), reason.text);
  const Compiled compiled(made, sdk.api().compiled_destroy);
  Expect(sdk.WriteBlob(context.get(), {&compiled}) == expected, "a graph with longer structs gives another blob");
  // The array that list_devices fills may have longer structs, too.
  const std::vector<NsdkDevice> devices = sdk.Devices();
  constexpr size_t kStride = sizeof(NsdkDevice) + 24;
  std::vector<char> bytes(kStride * devices.size());
  for (size_t i = 0; i < devices.size(); ++i) reinterpret_cast<NsdkDevice*>(&bytes[i * kStride])->struct_size = kStride;
  auto count = static_cast<uint32_t>(devices.size());
  Need(sdk.api().list_devices(&count, reinterpret_cast<NsdkDevice*>(bytes.data())) == NSDK_OK, "list_devices fails");
  for (size_t i = 0; i < devices.size(); ++i) {
    Expect(reinterpret_cast<NsdkDevice*>(&bytes[i * kStride])->id == devices[i].id,
           "device {} isn't where its longer struct is", i);
  }
}

void DestroyingNullDoesNothing(Sdk& sdk) {
  const NsdkApi& api = sdk.api();
  api.context_destroy(nullptr);
  api.blob_info_release(nullptr);
  api.unload(nullptr);
  api.exec_destroy(nullptr);
  if (sdk.Has(NSDK_CAN_COMPILE)) api.compiled_destroy(nullptr);
  if (sdk.Has(NSDK_CAN_GROUP)) api.group_destroy(nullptr);
  if (sdk.Has(NSDK_CAN_BIND_MEMORY)) api.mem_destroy(nullptr);
}

void NothingIsLeftBehind(Sdk& sdk) {
  TestGraph graph("none");
  std::vector<Bytes> inputs;
  const auto once = [&](int order) {
    Context context = sdk.MakeContext();
    if (inputs.empty()) {
      graph = sdk.SmallGraph(context.get());
      inputs = RandomInputs(graph, 1);
    }
    Compiled compiled = sdk.Compile(context.get(), graph);
    const Bytes blob = sdk.WriteBlob(context.get(), {&compiled});
    if (order % 2 == 0) compiled.reset();
    Info info = sdk.InfoOf(blob.data(), blob.size());
    Group scratch, weights;
    if (sdk.Has(NSDK_CAN_GROUP)) {
      scratch = sdk.MakeGroup(context.get(), NSDK_SHARE_SCRATCH);
      weights = sdk.MakeGroup(context.get(), NSDK_SHARE_WEIGHTS);
    }
    Program program = sdk.Load(context.get(), blob.data(), blob.size(), NSDK_BLOB_STAYS, scratch.get(), weights.get());
    Program other = sdk.Load(context.get(), blob.data(), blob.size(), 0, scratch.get(), weights.get());
    if (order % 3 == 0) info.reset();
    Execution execution = sdk.MakeExecution(program.get());
    sdk.RunOnce(other.get(), 0, graph, inputs);
    if (order % 5 == 0) scratch.reset(), weights.reset();
    if (order % 7 < 3) {
      execution.reset();
      program.reset();
      other.reset();
    } else {
      other.reset();
      execution.reset();
      program.reset();
    }
    scratch.reset();
    weights.reset();
    compiled.reset();
    context.reset();
  };
  for (int i = 0; i < 60; ++i) once(i);
  if (__lsan_do_recoverable_leak_check != nullptr) {
    Expect(__lsan_do_recoverable_leak_check() == 0,
           "LeakSanitizer finds memory that nothing owns (its report is above)");
  }
  const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  constexpr size_t kTimes = 210;
  for (size_t i = 0; i < kTimes; ++i) once(static_cast<int>(i));
  const size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
  // Growth of less than 64 bytes per round is the allocator's own.
  Expect(after < before + 64 * kTimes, "{} bytes more after each context with its programs and executions",
         (after - before) / kTimes);
}

void OptionalArgumentsAreNull(Sdk& sdk) {
  const NsdkApi& api = sdk.api();
  NsdkContextOptions options = {};
  options.struct_size = sizeof options;
  options.device = sdk.FirstDevice();
  NsdkContext* made = nullptr;
  NsdkStatus status = api.context_create(&options, &made, nullptr);
  Expect(status == NSDK_OK, "context_create without log and reason returned {}", NameOf(status));
  api.context_destroy(made);
  const Context context = sdk.MakeContext();
  const NsdkBlobInfo* info = nullptr;
  api.blob_info("no blob", 7, &info, nullptr);
  if (!sdk.Has(NSDK_CAN_COMPILE)) return;
  const TestGraph graph = sdk.SmallGraph(context.get());
  const NsdkView unknown(UnknownGraph());
  NsdkCompiled* none = nullptr;
  api.query_op(context.get(), unknown.get(), 0, nullptr);
  api.compile(context.get(), unknown.get(), nullptr, &none, nullptr);
  const Bytes blob = sdk.BlobOf(context.get(), graph);
  NsdkProgram* program = nullptr;
  status = api.load(context.get(), blob.data(), blob.size(), nullptr, &program, nullptr);
  Expect(status == NSDK_OK, "load without options and reason returned {}", NameOf(status));
  const Program loaded(program, api.unload);
  NsdkExecution* execution = nullptr;
  status = api.exec_create(program, 0, &execution, nullptr);
  Expect(status == NSDK_OK, "exec_create without reason returned {}", NameOf(status));
  api.run(execution, nullptr, nullptr);
  api.exec_destroy(execution);
}

void ReasonsEnd(Sdk& sdk) {
  for (const uint32_t size : {8u, 5u, 12u, 20u, 64u, static_cast<uint32_t>(sizeof(NsdkReason))}) {
    NsdkReason reason;
    std::memset(&reason, 0xA5, sizeof reason);
    reason.struct_size = size;
    const NsdkBlobInfo* info = nullptr;
    if (sdk.api().blob_info("no blob", 7, &info, &reason) == NSDK_OK) throw NotReached{"text is taken for a blob"};
    const size_t room = size - offsetof(NsdkReason, text);
    Expect(std::memchr(reason.text, 0, room) != nullptr, "with struct_size {} the text has no end in its {} bytes",
           size, room);
  }
}

}  // namespace epiphyte::nsdk_conformance
