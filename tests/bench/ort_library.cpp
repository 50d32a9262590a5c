#include "tests/bench/ort_library.h"

#include <dlfcn.h>

#include <cstring>
#include <stdexcept>

namespace epiphyte::test {
namespace {

// The version of the API that has every function used here and is the oldest in use.
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
  ort.Call(OrtLibrary::kCreateCpuMemoryInfo, kDeviceAllocator, kDefaultMemory, &memory_info_);
  void* options = nullptr;
  ort.Call(OrtLibrary::kCreateSessionOptions, &options);
  ort.Call(OrtLibrary::kSetIntraOpNumThreads, options, threads);
  ort.Call(OrtLibrary::kSetInterOpNumThreads, options, 1);
  ort.Call(OrtLibrary::kCreateSession, ort.environment(), model.c_str(), options, &session_);
  ort.Release(OrtLibrary::kReleaseSessionOptions, options);
  input_names_ = Names(OrtLibrary::kSessionGetInputCount, OrtLibrary::kSessionGetInputName);
  output_names_ = Names(OrtLibrary::kSessionGetOutputCount, OrtLibrary::kSessionGetOutputName);
  for (const std::string& name : input_names_) input_name_pointers_.push_back(name.c_str());
  for (const std::string& name : output_names_) output_name_pointers_.push_back(name.c_str());
  outputs_.resize(output_names_.size());
}

OrtSession::~OrtSession() {
  ReleaseOutputs();
  for (void* input : inputs_) ort_.Release(OrtLibrary::kReleaseValue, input);
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

void OrtSession::SetInputs(std::span<const core::ValuePtr> inputs) {
  if (inputs.size() != input_names_.size()) {
    throw std::runtime_error("the model has " + std::to_string(input_names_.size()) + " inputs, but " +
                             std::to_string(inputs.size()) + " were given");
  }
  for (const core::ValuePtr& input : inputs) {
    void* value = nullptr;
    ort_.Call(OrtLibrary::kCreateTensorWithData, memory_info_, input->mutable_data(),
              static_cast<size_t>(input->byte_size()), input->dims().data(), input->dims().size(),
              static_cast<int>(input->type()), &value);
    inputs_.push_back(value);
  }
}

void OrtSession::Run() {
  ort_.Call(OrtLibrary::kRun, session_, static_cast<void*>(nullptr), input_name_pointers_.data(), inputs_.data(),
            inputs_.size(), output_name_pointers_.data(), outputs_.size(), outputs_.data());
}

void OrtSession::ReleaseOutputs() {
  for (void*& output : outputs_) {
    if (output != nullptr) ort_.Release(OrtLibrary::kReleaseValue, output);
    output = nullptr;
  }
}

std::vector<core::ValuePtr> OrtSession::Outputs() const {
  std::vector<core::ValuePtr> values;
  for (void* output : outputs_) {
    void* info = nullptr;
    ort_.Call(OrtLibrary::kGetTensorTypeAndShape, output, &info);
    int type = 0;
    ort_.Call(OrtLibrary::kGetTensorElementType, info, &type);
    size_t rank = 0;
    ort_.Call(OrtLibrary::kGetDimensionsCount, info, &rank);
    std::vector<int64_t> dims(rank);
    ort_.Call(OrtLibrary::kGetDimensions, info, dims.data(), rank);
    ort_.Release(OrtLibrary::kReleaseTensorTypeAndShapeInfo, info);
    void* data = nullptr;
    ort_.Call(OrtLibrary::kGetTensorMutableData, output, &data);

    core::ValuePtr value = core::Value::Tensor(static_cast<core::DataType>(type), dims);
    if (value->byte_size() > 0) std::memcpy(value->mutable_data(), data, value->byte_size());
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace epiphyte::test
