// Checks of the rules on operator queries, compiling, writing blobs and cancelling.
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include "cases.h"
#include "rules.h"

namespace epiphyte::nsdk_conformance {
namespace {

using Clock = std::chrono::steady_clock;

// A task that records the calls of its progress function and cancels at one of them.
struct Watch {
  int refuse_at = -1;  // the call at which it cancels; -1: none
  int calls = 0;
  std::thread::id thread = std::this_thread::get_id();
  double last = 0;
  std::string wrong;
  Clock::time_point refused;

  NsdkTask Task() {
    NsdkTask task = {};
    task.struct_size = sizeof task;
    task.user = this;
    task.progress = [](void* user, double done, const char*) { return static_cast<Watch*>(user)->Call(done); };
    return task;
  }
  int32_t Call(double done) {
    if (std::this_thread::get_id() != thread) wrong = "progress is called on another thread";
    if (!(done >= 0 && done <= 1)) wrong = fmt::format("progress is {}, expected 0 to 1", done);
    if (done < last) wrong = fmt::format("progress fell from {} to {}", last, done);
    last = done;
    if (calls++ != refuse_at) return 0;
    refused = Clock::now();
    return 1;
  }
};

struct Piece {
  uint64_t size, total;
};

struct Pieces {
  size_t refuse_at = SIZE_MAX;
  std::vector<Piece> pieces;
  Bytes bytes;

  NsdkSink Sink() {
    NsdkSink sink = {};
    sink.struct_size = sizeof sink;
    sink.user = this;
    sink.write = [](void* user, const void* data, uint64_t size, uint64_t total) -> int32_t {
      Pieces& self = *static_cast<Pieces*>(user);
      self.pieces.push_back({size, total});
      self.bytes.insert(self.bytes.end(), static_cast<const uint8_t*>(data), static_cast<const uint8_t*>(data) + size);
      return self.pieces.size() > self.refuse_at ? 1 : 0;
    };
    return sink;
  }
};

// A graph with many weights: a GEMM of x with 256 x 256 constants, or a convolution with about as many.
TestGraph Weighty(Sdk& sdk, NsdkContext* context, const std::string& name) {
  for (const bool product : {true, false}) {
    TestGraph graph(name);
    std::mt19937 random(99);
    const uint32_t x = graph.AddInput({"x",
                                       NSDK_INT8,
                                       product ? std::vector<int64_t>{1, 256} : std::vector<int64_t>{1, 64, 4, 4},
                                       {0.05f},
                                       {},
                                       0,
                                       {}});
    TestTensor weights{
        "w", NSDK_INT8, product ? std::vector<int64_t>{256, 256} : std::vector<int64_t>{64, 64, 3, 3}, {0.01f}, {},
        0,   {}};
    weights.data = RandomBytes(weights, random);
    const uint32_t w = graph.AddTensor(std::move(weights));
    graph.outputs = {graph.AddTensor({"y", NSDK_INT8, graph.tensors[x].dims, {1.0f}, {}, 0, {}})};
    TestOp op{product ? NSDK_MATMUL : NSDK_CONV, "op", {x, w}, graph.outputs, {}, {}};
    if (!product) op.ints[NSDK_PADS] = {1, 1, 1, 1};
    graph.AddOp(op);
    if (sdk.Accepts(context, graph)) return graph;
  }
  throw NotApplicable{"the SDK takes neither a product of matrices nor a convolution"};
}

TestGraph WithKind(TestGraph graph, uint32_t kind) {
  graph.ops[0].kind = kind;
  return graph;
}

NsdkStatus Query(Sdk& sdk, NsdkContext* context, const TestGraph& graph, ViewOptions options = {}) {
  const NsdkView view(graph, options);
  return sdk.api().query_op(context, view.get(), 0, nullptr);
}

}  // namespace

void CompileIsCancelled(Sdk& sdk) {
  sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
  const Context context = sdk.MakeContext();
  const TestGraph graph = sdk.LargeGraph(context.get());
  const NsdkView view(graph);
  for (const int call : {0, 3}) {
    Watch watch{.refuse_at = call};
    const NsdkTask task = watch.Task();
    NsdkCompiled* compiled = nullptr;
    const NsdkStatus status = sdk.api().compile(context.get(), view.get(), &task, &compiled, nullptr);
    const auto end = Clock::now();
    if (status == NSDK_OK) sdk.api().compiled_destroy(compiled);
    if (watch.calls == 0) throw NotApplicable{"compile is so short that it doesn't call progress"};
    if (watch.calls <= call) break;  // compile ended before this call
    Expect(status == NSDK_CANCELLED, "call {} of progress refused, and compile returned {}", call + 1, NameOf(status));
    const double seconds = std::chrono::duration<double>(end - watch.refused).count();
    Expect(seconds <= 1, "compile returned {:.2f} s after progress refused", seconds);
  }
}

void CompileProgressRises(Sdk& sdk) {
  sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
  const Context context = sdk.MakeContext();
  const NsdkView view(sdk.LargeGraph(context.get()));
  Watch watch;
  const NsdkTask task = watch.Task();
  NsdkCompiled* compiled = nullptr;
  const NsdkStatus status = sdk.api().compile(context.get(), view.get(), &task, &compiled, nullptr);
  Need(status == NSDK_OK, "compile returned {}", NameOf(status));
  sdk.api().compiled_destroy(compiled);
  Expect(watch.wrong.empty(), "{}", watch.wrong);
}

void QueryKeepsItsWord(Sdk& sdk) {
  sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
  const Context context = sdk.MakeContext();
  std::mt19937 random(1);
  size_t accepted = 0;
  for (uint32_t kind = 1; kind <= kLastKind; ++kind) {
    for (int i = 0; i < 24; ++i) {
      const TestGraph graph = RandomCase(kind, random, {.limits = i % 3 == 1, .by_channel = i % 3 == 2});
      if (!sdk.Accepts(context.get(), graph)) continue;
      ++accepted;
      const NsdkView view(graph);
      NsdkCompiled* compiled = nullptr;
      NsdkReason reason = EmptyReason();
      const NsdkStatus status = sdk.api().compile(context.get(), view.get(), nullptr, &compiled, &reason);
      Expect(status == NSDK_OK, "query_op accepts {}, and compile returned {}: {}", graph.ops[0].name, NameOf(status),
             reason.text);
      sdk.api().compiled_destroy(compiled);
    }
  }
  Expect(accepted > 0, "query_op accepts none of the operators of nsdk.h");
}

void UnknownKindIsDeclined(Sdk& sdk) {
  sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
  const Context context = sdk.MakeContext();
  const TestGraph graph = sdk.SmallGraph(context.get());
  for (const uint32_t kind : {0u, kLastKind + 1, 64u + graph.ops[0].kind, 0x80000001u, UINT32_MAX}) {
    const NsdkStatus status = Query(sdk, context.get(), WithKind(graph, kind));
    Expect(status == NSDK_UNSUPPORTED, "query_op of an operator of kind {} returned {}", kind, NameOf(status));
  }
}

void UnknownKeyIsDeclined(Sdk& sdk) {
  sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
  const Context context = sdk.MakeContext();
  TestGraph graph = sdk.SmallGraph(context.get());
  graph.ops[0].ints[NSDK_HIGH + 1000] = {1};
  const NsdkStatus status = Query(sdk, context.get(), graph);
  Expect(status == NSDK_UNSUPPORTED, "query_op of an operator with parameter {} returned {}", NSDK_HIGH + 1000,
         NameOf(status));
}

void QueryNeedsNoData(Sdk& sdk) {
  sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
  const Context context = sdk.MakeContext();
  std::mt19937 random(3);
  for (uint32_t kind = 1; kind <= kLastKind; ++kind) {
    for (int i = 0; i < 10; ++i) {
      const TestGraph graph = RandomCase(kind, random);
      const NsdkStatus with = Query(sdk, context.get(), graph),
                       without = Query(sdk, context.get(), graph, {.constant_data = false});
      Expect(with == without, "query_op of {} returned {}, and without the data of its constants {}", graph.ops[0].name,
             NameOf(with), NameOf(without));
    }
  }
}

void QueryStays(Sdk& sdk) {
  sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
  const Context context = sdk.MakeContext(), none = sdk.MakeContext(sdk.target().options, NSDK_WITHOUT_DEVICE);
  std::mt19937 random(4);
  for (uint32_t kind = 1; kind <= kLastKind; ++kind) {
    for (int i = 0; i < 10; ++i) {
      const TestGraph graph = RandomCase(kind, random, {.limits = i % 2 == 0});
      const NsdkStatus first = Query(sdk, context.get(), graph);
      for (NsdkContext* at : {context.get(), none.get()}) {
        const NsdkStatus again = Query(sdk, at, graph);
        Expect(first == again, "query_op of {} returned {} first and {} then", graph.ops[0].name, NameOf(first),
               NameOf(again));
      }
    }
  }
}

void TargetNamesTheOperators(Sdk& sdk) {
  sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
  const Context context = sdk.MakeContext();
  const NsdkTarget target = sdk.TargetOf(context.get());
  std::mt19937 random(6);
  for (uint32_t kind = 1; kind <= kLastKind; ++kind) {
    if ((target.ops >> kind & 1) != 0) continue;
    for (int i = 0; i < 20; ++i) {
      const TestGraph graph = RandomCase(kind, random);
      Expect(!sdk.Accepts(context.get(), graph), "the target's ops have no {}, and query_op accepts {}",
             NameOfKind(kind), graph.ops[0].name);
    }
  }
}

void GraphsAreInOrder(Sdk& sdk) {
  sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
  const Context context = sdk.MakeContext();
  std::vector<std::string> names = {"zebra", "ant", "mole"};
  std::vector<Compiled> compiled;
  for (uint32_t i = 0; i < 3; ++i)
    compiled.push_back(sdk.Compile(context.get(), sdk.SmallGraph(context.get(), names[i], i)));
  const Bytes blob = sdk.WriteBlob(context.get(), {&compiled[0], &compiled[1], &compiled[2]});
  const Info info = sdk.InfoOf(blob.data(), blob.size());
  Expect(info->graph_count == 3, "a blob of 3 graphs has {}", info->graph_count);
  for (size_t i = 0; i < 3; ++i) {
    const auto* graph = reinterpret_cast<const NsdkBlobGraph*>(reinterpret_cast<const char*>(info->graphs) +
                                                               i * info->graphs->struct_size);
    Expect(graph->name != nullptr && names[i] == graph->name, "graph {} is '{}', expected '{}'", i,
           graph->name == nullptr ? "" : graph->name, names[i]);
  }
}

void EqualWeightsAreStoredOnce(Sdk& sdk) {
  sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
  const Context context = sdk.MakeContext();
  const TestGraph first = Weighty(sdk, context.get(), "first"), second = Weighty(sdk, context.get(), "second");
  const Compiled one = sdk.Compile(context.get(), first), other = sdk.Compile(context.get(), second);
  const Bytes single = sdk.WriteBlob(context.get(), {&one}), both = sdk.WriteBlob(context.get(), {&one, &other});
  const size_t weights = first.tensors[1].data.size();
  Expect(both.size() < single.size() + weights / 2,
         "a blob of one graph with {} bytes of weights has {} bytes, one of two with the same weights {}", weights,
         single.size(), both.size());
}

void EqualBytes(Sdk& sdk) {
  sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
  const Context context = sdk.MakeContext(), other = sdk.MakeContext();
  std::mt19937 random(21);
  std::vector<TestGraph> graphs = {sdk.SmallGraph(context.get()), Weighty(sdk, context.get(), "weighty")};
  if (TestGraph net = SmallNet(random); sdk.Accepts(context.get(), net)) graphs.push_back(std::move(net));
  for (const TestGraph& graph : graphs) {
    const Bytes first = sdk.BlobOf(context.get(), graph);
    for (NsdkContext* at : {context.get(), other.get()}) {
      const Bytes again = sdk.BlobOf(at, graph);
      const size_t where = static_cast<size_t>(
          std::mismatch(first.begin(), first.end(), again.begin(), again.end()).first - first.begin());
      Expect(first == again, "two compiles of one graph give {} and {} bytes, which differ at byte {}", first.size(),
             again.size(), where);
    }
  }
}

void SinkGetsItAll(Sdk& sdk) {
  sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
  const Context context = sdk.MakeContext();
  const Compiled compiled = sdk.Compile(context.get(), Weighty(sdk, context.get(), "weighty"));
  Pieces pieces;
  const NsdkSink sink = pieces.Sink();
  NsdkCompiled* pointer = compiled.get();
  const NsdkStatus status = sdk.api().write_blob(context.get(), &pointer, 1, &sink, nullptr);
  Need(status == NSDK_OK, "write_blob returned {}", NameOf(status));
  Expect(!pieces.pieces.empty(), "the sink got nothing");
  for (const Piece& piece : pieces.pieces) {
    Expect(piece.total == pieces.bytes.size(), "a total of {} bytes was announced, {} came", piece.total,
           pieces.bytes.size());
  }
}

void SinkRefuses(Sdk& sdk) {
  sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
  const Context context = sdk.MakeContext();
  const Compiled compiled = sdk.Compile(context.get(), Weighty(sdk, context.get(), "weighty"));
  NsdkCompiled* pointer = compiled.get();
  for (const size_t at : {0u, 1u}) {
    Pieces pieces{.refuse_at = at};
    const NsdkSink sink = pieces.Sink();
    const NsdkStatus status = sdk.api().write_blob(context.get(), &pointer, 1, &sink, nullptr);
    if (pieces.pieces.size() <= at) break;  // the blob was written in fewer pieces
    Expect(status == NSDK_CANCELLED, "the sink refused piece {}, and write_blob returned {}", at, NameOf(status));
    Expect(pieces.pieces.size() == at + 1, "the sink refused piece {}, and got {} pieces", at, pieces.pieces.size());
  }
}

void CompiledInSeveralContexts(Sdk& sdk) {
  sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
  const Context first = sdk.MakeContext(), second = sdk.MakeContext();
  const TestGraph a = sdk.SmallGraph(first.get(), "a", 1), b = sdk.SmallGraph(first.get(), "b", 2);
  const Compiled one = sdk.Compile(first.get(), a), other = sdk.Compile(second.get(), b),
                 same = sdk.Compile(first.get(), b);
  const Bytes expected = sdk.WriteBlob(first.get(), {&one, &same});
  NsdkCompiled* pointers[] = {one.get(), other.get()};
  Pieces pieces;
  const NsdkSink sink = pieces.Sink();
  NsdkReason reason = EmptyReason();
  const NsdkStatus status = sdk.api().write_blob(first.get(), pointers, 2, &sink, &reason);
  Expect(status == NSDK_OK, "write_blob returned {}: {}", NameOf(status), reason.text);
  Expect(pieces.bytes == expected, "a graph compiled in another context gives other bytes");
}

void CompilesWithoutDevice(Sdk& sdk) {
  sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
  Context context = sdk.MakeContext();
  const TestGraph graph = sdk.SmallGraph(context.get());
  const Bytes expected = sdk.BlobOf(context.get(), graph);
  context.reset();
  NsdkContext* none = nullptr;
  NsdkReason reason = EmptyReason();
  NsdkStatus status = sdk.CreateContext(sdk.target().options, NSDK_WITHOUT_DEVICE, &none, &reason);
  Expect(status == NSDK_OK, "a context for no device: {}: {}", NameOf(status), reason.text);
  const Context without(none, sdk.api().context_destroy);
  const NsdkView view(graph);
  NsdkCompiled* made = nullptr;
  status = sdk.api().compile(none, view.get(), nullptr, &made, &reason);
  Expect(status == NSDK_OK, "compile in a context for no device: {}: {}", NameOf(status), reason.text);
  const Compiled compiled(made, sdk.api().compiled_destroy);
  Expect(sdk.WriteBlob(none, {&compiled}) == expected, "a context for no device gives another blob");
}

void NamesAreUnique(Sdk& sdk) {
  sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
  const Context context = sdk.MakeContext();
  const Compiled one = sdk.Compile(context.get(), sdk.SmallGraph(context.get(), "same", 1)),
                 other = sdk.Compile(context.get(), sdk.SmallGraph(context.get(), "same", 2));
  NsdkCompiled* pointers[] = {one.get(), other.get()};
  Pieces pieces;
  const NsdkSink sink = pieces.Sink();
  const NsdkStatus status = sdk.api().write_blob(context.get(), pointers, 2, &sink, nullptr);
  Expect(status == NSDK_INVALID_ARGUMENT, "write_blob of two graphs that are called 'same' returned {}",
         NameOf(status));
}

void RunIsCancelled(Sdk& sdk) {
  const Context context = sdk.MakeContext();
  const TestGraph graph = sdk.LargeGraph(context.get());
  const Program program = sdk.Load(context.get(), sdk.BlobOf(context.get(), graph));
  const std::vector<Bytes> inputs = RandomInputs(graph, 1);
  const std::vector<Bytes> expected = sdk.RunOnce(program.get(), 0, graph, inputs);
  const Execution execution = sdk.MakeExecution(program.get());
  Bytes output(expected[0].size());
  sdk.Bind(execution.get(), NSDK_INPUT, 0, inputs[0].data(), inputs[0].size());
  sdk.Bind(execution.get(), NSDK_OUTPUT, 0, output.data(), output.size());
  for (const int call : {0, 3}) {
    Watch watch{.refuse_at = call};
    const NsdkTask task = watch.Task();
    const NsdkStatus status = sdk.api().run(execution.get(), &task, nullptr);
    const auto end = Clock::now();
    if (watch.calls == 0) throw NotApplicable{"run is so short that it doesn't call progress"};
    if (watch.calls <= call) break;  // run ended before this call
    Expect(status == NSDK_CANCELLED, "call {} of progress refused, and run returned {}", call + 1, NameOf(status));
    const double seconds = std::chrono::duration<double>(end - watch.refused).count();
    Expect(seconds <= 1, "run returned {:.2f} s after progress refused", seconds);
  }
  const NsdkStatus again = sdk.api().run(execution.get(), nullptr, nullptr);
  Expect(again == NSDK_OK, "the run after a cancelled one returned {}", NameOf(again));
  Expect(output == expected[0], "the run after a cancelled one gives other numbers");
}

void RunProgressRises(Sdk& sdk) {
  const Context context = sdk.MakeContext();
  const TestGraph graph = sdk.LargeGraph(context.get());
  const Program program = sdk.Load(context.get(), sdk.BlobOf(context.get(), graph));
  const std::vector<Bytes> inputs = RandomInputs(graph, 1);
  const Execution execution = sdk.MakeExecution(program.get());
  Bytes output(graph.tensors[graph.outputs[0]].Size());
  sdk.Bind(execution.get(), NSDK_INPUT, 0, inputs[0].data(), inputs[0].size());
  sdk.Bind(execution.get(), NSDK_OUTPUT, 0, output.data(), output.size());
  Watch watch;
  const NsdkTask task = watch.Task();
  Need(sdk.api().run(execution.get(), &task, nullptr) == NSDK_OK, "run fails");
  Expect(watch.wrong.empty(), "{}", watch.wrong);
}

}  // namespace epiphyte::nsdk_conformance
