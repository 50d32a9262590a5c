// Faults of the faulty plugin in ep.onnx, ep.profile, ep.schema and ep.explain, for the names in IsAbout.
#include <stdexcept>
#include <thread>

#include "epiphyte/draft/ep_explain.h"
#include "epiphyte/ep_onnx.h"
#include "epiphyte/ep_profile.h"
#include "epiphyte/ep_schema.h"
#include "tests/conformance/faulty/faulty.h"

namespace {

template <typename Table>
const Table* TableOf(const EpHostInfo* host, const char* id) {
  return static_cast<const Table*>(host->GetExtension(host, id));
}

// --- a partition as ONNX

EpStatus* EP_CALL Append(void* user, const void* data, uint64_t size) {
  if (Has("1403_throws_in_writer")) throw std::runtime_error("no room");
  if (Has("1404_writes_bytes")) *static_cast<char*>(const_cast<void*>(data)) = 0;
  static const char* kept = nullptr;
  if (Has("1404_keeps_bytes") && kept != nullptr) {
    volatile char late = *kept;
    (void)late;
  }
  kept = static_cast<const char*>(data);
  static_cast<std::string*>(user)->append(kept, size);
  return nullptr;
}

}  // namespace

EpStatus* WriteAsOnnx(const EpHostInfo* host, const EpGraph* graph) {
  std::string bytes;
  EpOnnxOptions options = {};
  options.struct_size = Has("1401_small_options") ? 16 : sizeof(options);
  options.write_model = Has("1401_no_writer") ? nullptr : Append;
  options.write_weights = Append;
  options.user = &bytes;
  options.weights_location = Has("1402_weights_in_a_folder") ? "weights/faulty.bin" : "faulty.bin";
  return TableOf<EpOnnxApi>(host, EP_ONNX_EXTENSION)->WriteGraph(graph, &options);
}

// --- spans

EpStatus* AddSpan(const EpHostInfo* host, const EpRun* run) {
  const auto* api = TableOf<EpProfileApi>(host, EP_PROFILE_EXTENSION);
  static EpProfile* kept = nullptr;
  EpProfile* trace = api->OfRun(run);
  if (Has("1505_keeps_profile") && kept != nullptr) trace = kept;
  kept = trace;
  if (trace == nullptr) return nullptr;
  EpProfileSpan span = {};
  span.struct_size = Has("1501_small_span") ? 8 : sizeof(span);
  span.name = Has("1502_no_name") ? "" : "compute";
  span.start_ns = api->Now();
  span.end_ns = api->Now();
  if (Has("1503_ends_before_it_starts")) span.end_ns = span.start_ns - 1;
  if (Has("1504_counts_from_its_own_zero")) span.start_ns = span.end_ns = 1;
  if (Has("1504_is_ahead")) span.start_ns = span.end_ns = api->Now() + int64_t{3600} * 1000000000;
  const EpProfileSpan* const spans[] = {&span};
  return api->AddSpans(trace, spans, 1);
}

// --- operators

namespace {

struct Operators {
  EpOperatorAttribute mode = {sizeof(EpOperatorAttribute), EP_ATTRIBUTE_REQUIRED, "mode", EP_ATTRIBUTE_STRING, 0};
  const EpOperatorAttribute* attributes[1] = {&mode};
  EpOperatorInfo count = {sizeof(EpOperatorInfo), 0, "faulty", "Count", 1, 1, 2, 1, 1, attributes, 1};
  EpOperatorInfo now = {sizeof(EpOperatorInfo), 0, "faulty", "Now", 2, 0, 0, 1, 1, nullptr, 0};
  const EpOperatorInfo* all[2] = {&count, &now};

  Operators() {
    if (Has("1604_null_operator")) all[1] = nullptr;
    if (Has("1604_small_operator")) now.struct_size = 16;
    if (Has("1605_onnxs_domain")) now.domain = "ai.onnx.ml";
    if (Has("1605_no_name")) now.name = "";
    if (Has("1606_version_zero")) now.since_version = 0;
    if (Has("1607_turned_numbers")) now.min_outputs = 2;
    if (Has("1608_null_attribute")) attributes[0] = nullptr;
    if (Has("1608_attribute_type_99")) mode.type = 99;
    if (Has("1609_one_operator_twice")) now.name = "Count", now.since_version = 1;
  }
};

EpStatus* EP_CALL GetOperators(EpPlugin* plugin, const EpOperatorInfo** operators, uint32_t capacity, uint32_t* count) {
  static const Operators described;
  static int asked = 0;
  if (Has("1602_throws_in_operators")) throw std::runtime_error("no table");
  if (Has("1603_fails_in_operators")) return Refuse(plugin->host, EP_STATUS_FAIL, "no table");
  *count = Has("1603_a_million_operators") ? 1000000 : 2;
  if (Has("1610_forgets_an_operator") && ++asked > 2) *count = 1;
  for (uint32_t i = 0; i < *count && i < capacity && i < 2; ++i) operators[i] = described.all[i];
  if (Has("1603_overfills_operators") && capacity >= 2) operators[capacity] = described.all[0];
  return nullptr;
}

EpStatus* EP_CALL InferTypes(EpPlugin* plugin, const EpOperatorInfo*, const EpNode* node, EpInference* inference) {
  const EpHostInfo* host = plugin->host;
  const auto* api = TableOf<EpInferenceApi>(host, EP_SCHEMA_EXTENSION);
  if (Has("1602_throws_in_inference")) throw std::runtime_error("no type");
  EpTypeInfo type = {};
  type.struct_size = sizeof(type);
  type.kind = EP_KIND_TENSOR;
  type.element_type = EP_TYPE_INT64;
  EpNodeInfo info = {};
  info.struct_size = sizeof(info);
  if (EpStatus* status = host->graph->GetNodeInfo(node, &info)) return status;
  static const int64_t* kept_ints = nullptr;
  if (Has("1613_keeps_ints") && kept_ints != nullptr) {
    volatile int64_t late = *kept_ints;
    (void)late;
  }
  if (info.input_count != 0) {
    EpValueDefInfo x = {};
    x.struct_size = sizeof(x);
    if (EpStatus* status = host->graph->GetValueDefInfo(info.inputs[0], &x)) return status;
    if (Has("1611_refuses_what_is_unknown") && x.type->kind == EP_KIND_UNKNOWN)
      return Refuse(host, EP_STATUS_INVALID_GRAPH, "a tensor is expected");
    if (Has("1611_trusts_dims")) {
      volatile int64_t first = x.type->dims[0];
      (void)first;
    }
    if (Has("1614_asks_its_neighbour") && x.producer != nullptr) {
      EpNodeInfo neighbour = {};
      neighbour.struct_size = sizeof(neighbour);
      if (EpStatus* status = host->graph->GetNodeInfo(x.producer, &neighbour)) return status;
    }
    const int64_t* ints = nullptr;
    uint64_t count = 0;
    if (EpStatus* status = api->GetInts(inference, 0, &ints, &count)) return status;
    if (ints != nullptr) kept_ints = ints;
    if (x.type->kind != EP_KIND_TENSOR) return nullptr;
    type.rank = x.type->rank;
    type.dims = x.type->dims;
  }
  static int asked = 0;
  if (Has("1615_changes_its_mind") && ++asked % 2 == 0) type.element_type = EP_TYPE_INT32;
  if (Has("1612_type_nine_hundred")) type.element_type = 900;
  static EpInference* kept = nullptr;
  EpInference* const target = Has("1613_keeps_inference") && kept != nullptr ? kept : inference;
  kept = inference;
  if (Has("1613_sets_on_another_thread")) {
    EpStatus* status = nullptr;
    std::thread([&] { status = api->SetOutput(inference, 0, &type); }).join();
    return status;
  }
  return api->SetOutput(target, Has("1612_output_nine") ? 9 : 0, &type);
}

}  // namespace

const EpSchemaApi* SchemaTable() {
  static const EpSchemaApi whole = {sizeof(EpSchemaApi), 0, GetOperators, InferTypes};
  static const EpSchemaApi small = {8, 0, GetOperators, InferTypes};
  static const EpSchemaApi half = {sizeof(EpSchemaApi), 0, GetOperators, nullptr};
  return Has("1601_small_schema_table") ? &small : Has("1601_no_inference") ? &half : &whole;
}

// --- notes

namespace {

bool g_explained = false;

EpStatus* EP_CALL Explain(EpProvider* provider, const EpPartitionInfo* const* partitions, uint64_t count,
                          const EpNoteSink* sink) {
  const EpHostInfo* host = provider->plugin->host;
  g_explained = true;
  if (Has("1702_throws_in_explain")) throw std::runtime_error("nothing to say");
  static EpNotes* kept = nullptr;
  EpNotes* const notes = Has("1704_keeps_notes") && kept != nullptr ? kept : sink->notes;
  kept = sink->notes;
  for (uint64_t i = 0; i < count; ++i) {
    EpGraphInfo info = {};
    info.struct_size = sizeof(info);
    if (EpStatus* status = host->graph->GetGraphInfo(partitions[i]->graph, &info)) return status;
    const EpNode* node = Has("1703_notes_no_node") ? nullptr : info.nodes[0];
    if (Has("1704_notes_on_another_thread")) {
      std::thread([&] { sink->NoteNode(notes, node, "one by one"); }).join();
      continue;
    }
    sink->NoteNode(notes, node, Has("508_a_note_of_garbage") ? "\xff\xfe" : "one by one");
  }
  return nullptr;
}

}  // namespace

bool HasExplained() { return g_explained; }

const EpExplainApi* ExplainTable() {
  static const EpExplainApi whole = {sizeof(EpExplainApi), 0, Explain};
  static const EpExplainApi small = {8, 0, Explain};
  static const EpExplainApi empty = {sizeof(EpExplainApi), 0, nullptr};
  return Has("1701_small_explain_table") ? &small : Has("1701_no_explain") ? &empty : &whole;
}
