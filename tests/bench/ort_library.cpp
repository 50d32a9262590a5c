#include "tests/bench/ort_library.h"

#include <dlfcn.h>

#include <stdexcept>

namespace epiphyte::test {
namespace {

// The oldest version of the API in use that has every function called here.
constexpr uint32_t kApiVersion = 11;
constexpr int kLogErrors = 3;
constexpr int kDeviceAllocator = 0;
constexpr int kDefaultMemory = 0;

struct ApiBase {
  void* const* (*get_api)(uint32_t version);
  const char* (*get_version)();
};

}  // namespace

OrtLibrary::OrtLibrary(const std::filesystem::path& path) {
  void* library = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(std::string("ONNX Runtime can't be opened: ") + dlerror());
  const auto get_base = reinterpret_cast<const ApiBase* (*)()>(dlsym(library, "OrtGetApiBase"));
  if (get_base == nullptr) throw std::runtime_error(path.string() + " is not ONNX Runtime: no OrtGetApiBase");
  version_ = get_base()->get_version();
  functions_ = get_base()->get_api(kApiVersion);
  if (functions_ == nullptr) throw std::runtime_error("ONNX Runtime " + version_ + " has no C API of version 11");
  Call(kCreateEnv, kLogErrors, "epiphyte", &environment_);
}

OrtLibrary::~OrtLibrary() { Release(kReleaseEnv, environment_); }

void OrtLibrary::Check(void* status) const {
  if (status == nullptr) return;
  const auto message = reinterpret_cast<const char* (*)(const void*)>(functions_[kGetErrorMessage]);
  const std::string text = message(status);
  Release(kReleaseStatus, status);
  throw std::runtime_error("ONNX Runtime: " + text);
}

OrtSession::OrtSession(const OrtLibrary& ort, const std::filesystem::path& model, int threads) : ort_(ort) {
  Create(OrtLibrary::kCreateSession, threads, model.c_str());
}

OrtSession::OrtSession(const OrtLibrary& ort, std::span<const std::byte> model, int threads) : ort_(ort) {
  Create(OrtLibrary::kCreateSessionFromArray, threads, static_cast<const void*>(model.data()), model.size());
}

template <typename... Model>
void OrtSession::Create(OrtLibrary::Slot slot, int threads, Model... model) {
  ort_.Call(OrtLibrary::kCreateCpuMemoryInfo, kDeviceAllocator, kDefaultMemory, &memory_info_);
  void* options = nullptr;
  ort_.Call(OrtLibrary::kCreateSessionOptions, &options);
  ort_.Call(OrtLibrary::kSetIntraOpNumThreads, options, threads);
  ort_.Call(OrtLibrary::kSetInterOpNumThreads, options, 1);
  ort_.Call(slot, ort_.environment(), model..., static_cast<const void*>(options), &session_);
  ort_.Release(OrtLibrary::kReleaseSessionOptions, options);
  input_names_ = Names(OrtLibrary::kSessionGetInputCount, OrtLibrary::kSessionGetInputName);
  output_names_ = Names(OrtLibrary::kSessionGetOutputCount, OrtLibrary::kSessionGetOutputName);
  for (const std::string& name : input_names_) input_name_pointers_.push_back(name.c_str());
  for (const std::string& name : output_names_) output_name_pointers_.push_back(name.c_str());
}

OrtSession::~OrtSession() {
  ort_.Release(OrtLibrary::kReleaseSession, session_);
  ort_.Release(OrtLibrary::kReleaseMemoryInfo, memory_info_);
}

std::vector<std::string> OrtSession::Names(OrtLibrary::Slot count_slot, OrtLibrary::Slot name_slot) const {
  void* allocator = nullptr;
  ort_.Call(OrtLibrary::kGetAllocatorWithDefaultOptions, &allocator);
  size_t count = 0;
  ort_.Call(count_slot, session_, &count);
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    ort_.Call(name_slot, session_, i, allocator, &name);
    names.emplace_back(name);
    ort_.Call(OrtLibrary::kAllocatorFree, allocator, static_cast<void*>(name));
  }
  return names;
}

OrtBinding::OrtBinding(const OrtSession& session, std::span<const OrtTensor> inputs)
    : session_(session), outputs_(session.output_names_.size()) {
  if (inputs.size() != session.input_names_.size()) {
    throw std::runtime_error("the model has " + std::to_string(session.input_names_.size()) + " inputs, but " +
                             std::to_string(inputs.size()) + " were given");
  }
  for (const OrtTensor& input : inputs) {
    void* value = nullptr;
    session.ort_.Call(OrtLibrary::kCreateTensorWithData, session.memory_info_, input.data, input.bytes,
                      input.dims.data(), input.dims.size(), input.type, &value);
    inputs_.push_back(value);
  }
}

OrtBinding::~OrtBinding() {
  ReleaseOutputs();
  for (void* input : inputs_) session_.ort_.Release(OrtLibrary::kReleaseValue, input);
}

void OrtBinding::Run() {
  session_.ort_.Call(OrtLibrary::kRun, session_.session_, static_cast<void*>(nullptr),
                     session_.input_name_pointers_.data(), inputs_.data(), inputs_.size(),
                     session_.output_name_pointers_.data(), outputs_.size(), outputs_.data());
}

void OrtBinding::ReleaseOutputs() {
  for (void*& output : outputs_) {
    if (output != nullptr) session_.ort_.Release(OrtLibrary::kReleaseValue, output);
    output = nullptr;
  }
}

std::vector<OrtTensor> OrtBinding::Outputs() const {
  const OrtLibrary& ort = session_.ort_;
  std::vector<OrtTensor> tensors;
  for (void* output : outputs_) {
    OrtTensor& tensor = tensors.emplace_back();
    void* info = nullptr;
    ort.Call(OrtLibrary::kGetTensorTypeAndShape, output, &info);
    ort.Call(OrtLibrary::kGetTensorElementType, info, &tensor.type);
    size_t rank = 0;
    ort.Call(OrtLibrary::kGetDimensionsCount, info, &rank);
    tensor.dims.resize(rank);
    ort.Call(OrtLibrary::kGetDimensions, info, tensor.dims.data(), rank);
    ort.Release(OrtLibrary::kReleaseTensorTypeAndShapeInfo, info);
    ort.Call(OrtLibrary::kGetTensorMutableData, output, &tensor.data);
  }
  return tensors;
}

}  // namespace epiphyte::test
