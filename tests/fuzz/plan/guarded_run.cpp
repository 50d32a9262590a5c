#include "tests/fuzz/plan/guarded_run.h"

#include <algorithm>
#include <deque>
#include <memory>

#include "plugins/cpu/exec/frame.h"
#include "tests/framework/guarded_memory.h"
#include "tests/framework/single_thread_services.h"

namespace epiphyte::fuzz {
namespace {

using cpu::ElementType;

constexpr int64_t kMostInputElements = 1 << 14;
constexpr uint64_t kMostOutputBytes = uint64_t{16} << 20;

struct Status {
  EpStatusCode code;
  std::string message;
};
Status* ToStatus(const EpStatus* status) { return reinterpret_cast<Status*>(const_cast<EpStatus*>(status)); }
EpStatus* CreateStatus(EpStatusCode code, const char* message) {
  return reinterpret_cast<EpStatus*>(new Status{code, message});
}

// Guarded memory that lives as long as this object.
class Memory {
 public:
  void* Allocate(uint64_t bytes) { return kept_.emplace_back(test::GuardedMemory(bytes)).get(); }

 private:
  std::vector<std::shared_ptr<void>> kept_;
};

// One run, with the memory of its outputs.
class Run {
 public:
  EpStatus* Allocate(ElementType type, const int64_t* dims, uint32_t rank, void** data) {
    uint64_t count = 1;
    for (uint32_t i = 0; i < rank; ++i)
      if (dims[i] < 0 || __builtin_mul_overflow(count, static_cast<uint64_t>(dims[i]), &count) || count > 1u << 28)
        return CreateStatus(EP_STATUS_INVALID_ARGUMENT, "dimensions that make no sense");
    const uint64_t bytes = cpu::ElementBytes(type, count);
    if (bytes > kMostOutputBytes) return CreateStatus(EP_STATUS_FAIL, "too large");
    *data = memory_.Allocate(bytes);
    return nullptr;
  }

 private:
  Memory memory_;
};
Run& ToRun(EpRun* run) { return *reinterpret_cast<Run*>(run); }

// Values that a plan makes for the host are empty. The test only checks writes to their memory.
EpStatus* MakeValue(EpValue** value) {
  *value = reinterpret_cast<EpValue*>(new char(0));
  return nullptr;
}
EpStatus* ReadStrings(const int64_t* dims, uint32_t rank, const EpString* strings) {
  uint64_t count = 1;
  for (uint32_t i = 0; i < rank; ++i) count *= static_cast<uint64_t>(dims[i]);
  volatile char sink = 0;
  for (uint64_t i = 0; i < count; ++i)
    for (uint64_t c = 0; c < strings[i].size; ++c) sink = strings[i].data[c];
  (void)sink;
  return nullptr;
}

const EpStatusApi kStatus = {sizeof kStatus,
                             0,
                             &CreateStatus,
                             [](const EpStatus* s) { return ToStatus(s)->code; },
                             [](const EpStatus* s) { return ToStatus(s)->message.c_str(); },
                             [](EpStatus* s) { delete ToStatus(s); }};

const EpRunApi kRun = [] {
  EpRunApi api = {};
  api.struct_size = sizeof api;
  api.AllocateOutput = [](EpRun* run, uint32_t, EpElementType type, const int64_t* dims, uint32_t rank, void** data) {
    return ToRun(run).Allocate(type, dims, rank, data);
  };
  api.SetStringOutput = [](EpRun*, uint32_t, const int64_t* dims, uint32_t rank, const EpString* strings) {
    return ReadStrings(dims, rank, strings);
  };
  api.CreateTensor = [](EpRun* run, EpElementType type, const int64_t* dims, uint32_t rank, EpValue** value,
                        void** data) -> EpStatus* {
    if (EpStatus* status = ToRun(run).Allocate(type, dims, rank, data)) return status;
    return MakeValue(value);
  };
  api.CreateStringTensor = [](EpRun*, const int64_t* dims, uint32_t rank, const EpString* strings, EpValue** value) {
    ReadStrings(dims, rank, strings);
    return MakeValue(value);
  };
  api.CreateSequence = [](EpRun*, EpElementType, EpValue* const*, uint64_t, EpValue** v) { return MakeValue(v); };
  api.CreateMap = [](EpRun*, EpValue*, EpValue*, EpValue** value) { return MakeValue(value); };
  api.CreateEmptyOptional = [](EpRun*, EpValue** value) { return MakeValue(value); };
  api.ShareValue = [](EpRun*, const EpValueView*, EpValue** value) { return MakeValue(value); };
  api.SetOutput = [](EpRun*, uint32_t, EpValue*) -> EpStatus* { return nullptr; };
  api.ReleaseValue = [](EpValue* value) { delete reinterpret_cast<char*>(value); };
  api.IsCancelled = [](const EpRun*) -> uint32_t { return 0; };
  return api;
}();

const EpHostInfo kHost = {sizeof kHost,
                          EP_ABI_VERSION,
                          EP_ABI_VERSION,
                          0,
                          "fuzz",
                          "0",
                          &kStatus,
                          &test::kSingleThreadServices,
                          nullptr,
                          nullptr,
                          &test::kUncancelledTask,
                          nullptr,
                          &kRun,
                          test::NoExtension};

// Makes inputs and owns their memory.
class Inputs {
 public:
  Inputs(Memory& memory, std::mt19937& random) : memory_(memory), random_(random) {}

  const EpValueView* Make(const kit::ir::Value& info) {
    switch (info.kind) {
      case EP_KIND_SEQUENCE: return MakeSequence(info);
      case EP_KIND_MAP: return MakeMap();
      case EP_KIND_OPTIONAL: return random_() % 2 == 0 ? MakeTensor(info) : Add(EP_KIND_UNKNOWN);
      default: return MakeTensor(info);
    }
  }

 private:
  EpValueView* Add(EpTypeKind kind) {
    views_.push_back({sizeof(EpValueView), kind, nullptr, nullptr, 0, 0, 0});
    return &views_.back();
  }

  const EpValueView* MakeTensor(const kit::ir::Value& info) {
    static constexpr ElementType kCommon[] = {EP_TYPE_FLOAT, EP_TYPE_DOUBLE,  EP_TYPE_INT64,  EP_TYPE_INT8,
                                              EP_TYPE_BOOL,  EP_TYPE_FLOAT16, EP_TYPE_STRING, EP_TYPE_INT32};
    const ElementType type = info.type != EP_TYPE_UNDEFINED ? info.type : kCommon[random_() % std::size(kCommon)];
    std::vector<int64_t> dims = info.dims;
    if (info.rank < 0) dims.assign(random_() % 5, -1);
    for (int64_t& dim : dims)
      if (dim < 0) dim = static_cast<int64_t>(random_() % 5);
    // The actual shape may differ from the declared one.
    if (random_() % 8 == 0 && !dims.empty()) dims[random_() % dims.size()] = static_cast<int64_t>(random_() % 4);
    if (random_() % 32 == 0) dims.push_back(1);
    return MakeTensor(type, std::move(dims));
  }

  const EpValueView* MakeTensor(ElementType type, std::vector<int64_t> shape) {
    const std::vector<int64_t>& dims = dims_.emplace_back(std::move(shape));
    int64_t count = 1;
    for (int64_t dim : dims)
      if (__builtin_mul_overflow(count, dim, &count) || count > kMostInputElements)
        cpu::FailOp("an input is too large");
    EpTensorView& tensor = tensors_.emplace_back();
    tensor = {};
    tensor.struct_size = sizeof tensor;
    tensor.element_type = type;
    tensor.rank = static_cast<uint32_t>(dims.size());
    tensor.dims = dims.data();
    tensor.element_count = static_cast<uint64_t>(count);
    if (type == EP_TYPE_STRING) {
      static constexpr const char* kTexts[] = {"a", "b", "the", "Text", ""};
      tensor.byte_size = static_cast<uint64_t>(count) * sizeof(EpString);
      auto* strings = static_cast<EpString*>(memory_.Allocate(tensor.byte_size));
      for (int64_t i = 0; i < count; ++i) {
        const char* const text = kTexts[random_() % std::size(kTexts)];
        strings[i] = {text, std::strlen(text)};
      }
      tensor.data = strings;
    } else {
      tensor.byte_size = cpu::ElementBytes(type, static_cast<uint64_t>(count));
      tensor.data = Fill(type, count, tensor.byte_size);
    }
    EpValueView* const view = Add(EP_KIND_TENSOR);
    view->tensor = &tensor;
    return view;
  }

  // Fills memory with numbers that are plausible as indices, sizes and values.
  const void* Fill(ElementType type, int64_t count, uint64_t bytes) {
    auto* const data = static_cast<uint8_t*>(memory_.Allocate(bytes));
    const auto number = [&] { return static_cast<int>(random_() % 9) - 3; };
    for (int64_t i = 0; i < count; ++i) {
      switch (type) {
        case EP_TYPE_FLOAT: reinterpret_cast<float*>(data)[i] = 0.5f * static_cast<float>(number()); break;
        case EP_TYPE_DOUBLE: reinterpret_cast<double*>(data)[i] = 0.5 * number(); break;
        case EP_TYPE_INT64: reinterpret_cast<int64_t*>(data)[i] = number(); break;
        case EP_TYPE_INT32: reinterpret_cast<int32_t*>(data)[i] = number(); break;
        case EP_TYPE_BOOL: data[i] = static_cast<uint8_t>(random_() % 2); break;
        default: break;
      }
    }
    const bool filled = type == EP_TYPE_FLOAT || type == EP_TYPE_DOUBLE || type == EP_TYPE_INT64 ||
                        type == EP_TYPE_INT32 || type == EP_TYPE_BOOL;
    if (!filled)
      for (uint64_t i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(random_());
    return data;
  }

  const EpValueView* MakeSequence(const kit::ir::Value& info) {
    auto& elements = lists_.emplace_back();
    kit::ir::Value element;
    element.type = info.type != EP_TYPE_UNDEFINED ? info.type : EP_TYPE_FLOAT;
    element.rank = 2;
    element.dims = {2, 3};
    for (uint32_t i = random_() % 4; i-- > 0;) elements.push_back(MakeTensor(element));
    EpValueView* const view = Add(EP_KIND_SEQUENCE);
    view->elements = elements.data();
    view->element_count = elements.size();
    view->element_type = element.type;
    return view;
  }

  const EpValueView* MakeMap() {
    const auto count = static_cast<int64_t>(random_() % 4);
    auto& parts = lists_.emplace_back();
    parts = {MakeTensor(random_() % 2 == 0 ? EP_TYPE_INT64 : EP_TYPE_STRING, {count}),
             MakeTensor(random_() % 2 == 0 ? EP_TYPE_FLOAT : EP_TYPE_STRING, {count})};
    EpValueView* const view = Add(EP_KIND_MAP);
    view->elements = parts.data();
    view->element_count = 2;
    return view;
  }

  Memory& memory_;
  std::mt19937& random_;
  std::deque<EpValueView> views_;
  std::deque<EpTensorView> tensors_;
  std::deque<std::vector<int64_t>> dims_;
  std::deque<std::vector<const EpValueView*>> lists_;
};

}  // namespace

kit::Threads OneThread() { return {&test::kSingleThreadServices, nullptr, 1}; }

void RunGuarded(const cpu::Plan& plan, std::mt19937& random) {
  const kit::ir::Graph& def = plan.def();
  Memory memory;
  Inputs inputs(memory, random);
  std::vector<const EpValueView*> views;
  for (int32_t input : def.inputs) views.push_back(inputs.Make(def.values[static_cast<size_t>(input)]));
  const EpRunInfo info = {sizeof info, static_cast<uint32_t>(views.size()), static_cast<uint32_t>(def.outputs.size()),
                          1, views.data()};
  cpu::Frame frame(plan, kit::Run(kHost, nullptr, info));
  for (int i = 0; i < 2; ++i) {
    Run run;
    frame.Execute(kit::Run(kHost, reinterpret_cast<EpRun*>(&run), info));
  }
}

}  // namespace epiphyte::fuzz
