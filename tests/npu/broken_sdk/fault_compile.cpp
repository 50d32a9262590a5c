// Faults of support queries, compiling and writing, among them operators that compute something else: their graphs are
// changed before they reach the compiler.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "complete.h"

namespace epiphyte::broken {
namespace {

NsdkApi right;

// A copy of a graph of one or several operators. Faults can change the copied structs.
struct Copy {
  explicit Copy(const NsdkGraph& theirs)
      : graph(theirs),
        tensors(theirs.tensors, theirs.tensors + theirs.tensor_count),
        ops(theirs.ops, theirs.ops + theirs.op_count) {
    for (NsdkOp& op : ops) {
      params.emplace_back(op.params, op.params + op.param_count);
      inputs.emplace_back(op.inputs, op.inputs + op.input_count);
    }
    Point();
  }
  void Point() {
    graph.tensors = tensors.data();
    graph.ops = ops.data();
    for (size_t i = 0; i < ops.size(); ++i) {
      ops[i].params = params[i].data();
      ops[i].param_count = static_cast<uint32_t>(params[i].size());
      ops[i].inputs = inputs[i].data();
      ops[i].input_count = static_cast<uint32_t>(inputs[i].size());
    }
  }
  bool Has(size_t op, uint32_t key) const {
    return std::any_of(params[op].begin(), params[op].end(), [&](const NsdkParam& param) { return param.key == key; });
  }
  void Drop(size_t op, uint32_t key) {
    std::erase_if(params[op], [&](const NsdkParam& param) { return param.key == key; });
  }
  NsdkTensor& Input(size_t op, size_t index) { return tensors[inputs[op][index]]; }

  NsdkGraph graph;
  std::vector<NsdkTensor> tensors;
  std::vector<NsdkOp> ops;
  std::vector<std::vector<NsdkParam>> params;
  std::vector<std::vector<uint32_t>> inputs;
  std::vector<std::unique_ptr<std::vector<int64_t>>> ints;
  std::vector<float> floats;
  int32_t zero = 0;
  std::vector<uint8_t> data;
};

// Swaps the pads at the beginning and at the end of each dimension.
void SwapPads(Copy& copy) {
  for (NsdkParam& param : copy.params[0]) {
    if (param.key != NSDK_PADS) continue;
    auto& pads =
        copy.ints.emplace_back(std::make_unique<std::vector<int64_t>>(param.ints, param.ints + param.int_count));
    std::rotate(pads->begin(), pads->begin() + static_cast<std::ptrdiff_t>(pads->size() / 2), pads->end());
    param.ints = pads->data();
  }
}

// Changes graphs of one operator, without limits or scales by channel; other rules cover those.
void BreakOperator(Copy& copy) {
  static constexpr int64_t kOne = 1;
  if (copy.ops.size() > 1) {
    if (Fault("224_forgets_limits_in_nets")) copy.Drop(0, NSDK_LOW);
    return;
  }
  if (Fault("222_forgets_the_upper_limit")) copy.Drop(0, NSDK_HIGH);
  const uint32_t kind = copy.ops[0].kind;
  if (Fault("223_one_scale_for_all") && (kind == NSDK_CONV || kind == NSDK_MATMUL)) {
    NsdkTensor& weights = copy.Input(0, 1);
    copy.floats.assign(weights.scale_count, weights.scale_count == 0 ? 1.0f : weights.scales[0]);
    weights.scales = copy.floats.data();
  }
  if (copy.Has(0, NSDK_LOW) || copy.Has(0, NSDK_HIGH) ||
      (copy.inputs[0].size() > 1 && copy.Input(0, 1).scale_count > 1))
    return;
  if (kind == NSDK_CONV && Fault("201_swaps_pads")) SwapPads(copy);
  if (kind == NSDK_MATMUL && Fault("203_forgets_the_bias")) copy.inputs[0].resize(2);
  if (kind == NSDK_MAX_POOL && Fault("204_swaps_pads")) SwapPads(copy);
  if (kind == NSDK_AVERAGE_POOL && !copy.Has(0, NSDK_COUNT_PADS) && Fault("205_counts_pads")) {
    copy.params[0].push_back({sizeof(NsdkParam), NSDK_COUNT_PADS, 1, 0, &kOne, nullptr});
  }
  if ((kind == NSDK_ADD && Fault("206_forgets_a_zero_point")) ||
      (kind == NSDK_RESCALE && Fault("212_forgets_the_zero_point")) ||
      (kind == NSDK_RESHAPE && Fault("216_forgets_the_zero_point"))) {
    copy.Input(0, 0).zero_points = &copy.zero;
  }
  if (kind == NSDK_LOOKUP && copy.Input(0, 0).type == NSDK_INT8 && copy.Input(0, 1).data != nullptr &&
      Fault("211_takes_signed_bytes")) {
    NsdkTensor& table = copy.Input(0, 1);
    const auto* bytes = static_cast<const uint8_t*>(table.data);
    copy.data.assign(bytes, bytes + 256);
    std::rotate(copy.data.begin(), copy.data.begin() + 128, copy.data.end());
    table.data = copy.data.data();
  }
  copy.Point();
}

NsdkStatus QueryOp(NsdkContext* context, const NsdkGraph* graph, uint32_t index, NsdkReason* reason) {
  if (Fault("114_wants_its_own_size") && graph->struct_size != sizeof *graph)
    return Explain(reason, NSDK_INVALID_ARGUMENT, "structs of another size");
  if (graph->struct_size != sizeof *graph || index >= graph->op_count)
    return right.query_op(context, graph, index, reason);
  const NsdkOp& op = graph->ops[index];
  if (Fault("121_promises_broadcasting") && op.kind == NSDK_ADD) return NSDK_OK;
  if (Fault("135_takes_unknown_kinds") && op.kind > NSDK_REDUCE_MEAN) return NSDK_OK;
  if (Fault("137_needs_data")) {
    for (uint32_t i = 0; i < graph->tensor_count; ++i) {
      if (graph->tensors[i].data_size != 0 && graph->tensors[i].data == nullptr)
        return Explain(reason, NSDK_UNSUPPORTED, "a constant without data");
    }
  }
  if (Fault("138_declines_without_device") && op.kind == NSDK_ADD) {
    const std::lock_guard lock(TheShared().lock);
    if (TheShared().without_device.contains(context)) return Explain(reason, NSDK_UNSUPPORTED, "there is no device");
  }
  if (Fault("136_passes_over_unknown_keys")) {
    Copy copy(*graph);
    for (auto& params : copy.params)
      std::erase_if(params, [](const NsdkParam& param) { return param.key > NSDK_HIGH; });
    copy.Point();
    return right.query_op(context, &copy.graph, index, reason);
  }
  return right.query_op(context, graph, index, reason);
}

NsdkStatus Compile(NsdkContext* context, const NsdkGraph* graph, const NsdkTask* theirs, NsdkCompiled** compiled,
                   NsdkReason* reason) {
  static std::atomic<int> at_work = 0;
  struct Count {
    Count() { ++at_work; }
    ~Count() { --at_work; }
  } const count;
  *compiled = nullptr;
  if (Fault("104_one_compiler_only")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (at_work > 1) return Explain(reason, NSDK_INTERNAL, "the compiler is at work");
  }
  if (Fault("114_wants_its_own_size") && graph->struct_size != sizeof *graph)
    return Explain(reason, NSDK_INVALID_ARGUMENT, "structs of another size");
  if (Fault("105_writes_the_graph")) *const_cast<uint32_t volatile*>(&graph->struct_size) = graph->struct_size;
  if (Fault("147_compiles_for_devices_only")) {
    const std::lock_guard lock(TheShared().lock);
    if (TheShared().without_device.contains(context)) return Explain(reason, NSDK_NO_DEVICE, "there is no device");
  }
  NsdkTask task = {};
  if (theirs != nullptr) std::memcpy(&task, theirs, std::min<size_t>(theirs->struct_size, sizeof task));
  NsdkTask around = {};
  around.struct_size = sizeof around;
  around.user = &task;
  around.progress = [](void* user, double done, const char* text) -> int32_t {
    const NsdkTask& inner = *static_cast<const NsdkTask*>(user);
    if (Fault("134_counts_down")) done = 1 - done;
    const int32_t answer = inner.progress == nullptr ? 0 : inner.progress(inner.user, done, text);
    return Fault("120_ignores_cancel") ? 0 : answer;
  };
  NsdkStatus status;
  if (graph->struct_size == sizeof *graph) {
    Copy copy(*graph);
    BreakOperator(copy);
    copy.Point();
    status = right.compile(context, &copy.graph, &around, compiled, reason);
  } else {
    status = right.compile(context, graph, &around, compiled, reason);
  }
  if (status != NSDK_OK) return status;
  const std::lock_guard lock(TheShared().lock);
  TheShared().compiled[*compiled] = context;
  return status;
}

struct Sink {
  const NsdkSink* theirs;
  std::vector<uint8_t> blob;
};

NsdkStatus WriteBlob(NsdkContext* context, NsdkCompiled* const* compiled, uint32_t count, const NsdkSink* theirs,
                     NsdkReason* reason) {
  Shared& shared = TheShared();
  std::vector<NsdkCompiled*> order(compiled, compiled + count);
  if (Fault("122_turns_the_order")) std::reverse(order.begin(), order.end());
  if (Fault("145_one_context_only")) {
    const std::lock_guard lock(shared.lock);
    for (NsdkCompiled* one : order) {
      if (shared.compiled[one] != context) return Explain(reason, NSDK_INVALID_ARGUMENT, "compiled in another context");
    }
  }
  // Collects the whole blob first, because faults change bytes before they are passed on.
  std::vector<uint8_t> blob;
  NsdkSink collect = {};
  collect.struct_size = sizeof collect;
  collect.user = &blob;
  collect.write = [](void* user, const void* data, uint64_t size, uint64_t) -> int32_t {
    auto& bytes = *static_cast<std::vector<uint8_t>*>(user);
    bytes.insert(bytes.end(), static_cast<const uint8_t*>(data), static_cast<const uint8_t*>(data) + size);
    return 0;
  };
  const NsdkStatus status = right.write_blob(context, order.data(), count, &collect, reason);
  if (status == NSDK_INVALID_ARGUMENT && count > 1 && Fault("148_takes_one_name_twice")) return NSDK_OK;
  if (status != NSDK_OK) return status;
  {
    const std::lock_guard lock(shared.lock);
    shared.last_blob = blob;
  }
  const bool large = blob.size() > 32768;
  static std::atomic<uint8_t> times = 0;
  if (large && count == 1 && Fault("142_writes_a_number_of_its_own")) blob.push_back(++times);
  if (large && count > 1 && Fault("141_stores_weights_twice")) blob.insert(blob.end(), blob.size(), 0);
  bool refused = false;
  for (size_t at = 0; at < blob.size(); at += 4096) {
    const size_t piece = std::min<size_t>(4096, blob.size() - at);
    const uint64_t total = Fault("143_total_is_what_is_left") ? blob.size() - at : blob.size();
    refused = theirs->write(theirs->user, &blob[at], piece, total) != 0 || refused;
    if (refused && !Fault("144_writes_on")) return Explain(reason, NSDK_CANCELLED, "the sink refused");
  }
  return refused ? Explain(reason, NSDK_CANCELLED, "the sink refused") : NSDK_OK;
}

}  // namespace

void BreakCompiling(NsdkApi& table) {
  right = table;
  table.query_op = QueryOp;
  table.compile = Compile;
  table.write_blob = WriteBlob;
  table.compiled_destroy = [](NsdkCompiled* compiled) {
    {
      const std::lock_guard lock(TheShared().lock);
      TheShared().compiled.erase(compiled);
    }
    right.compiled_destroy(compiled);
  };
}

}  // namespace epiphyte::broken
