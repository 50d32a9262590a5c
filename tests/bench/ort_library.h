// OrtLibrary: calls the few functions of ONNX Runtime's C API that a comparison needs, in a shared library given at run
// time.
//
//   OrtLibrary ort("node_modules/onnxruntime-node/bin/napi-v6/linux/x64/libonnxruntime.so.1");
//   OrtSession session(ort, "model.onnx", 2);
//   OrtBinding binding(session, inputs);
//   binding.Run();
//
// The library comes from the npm package onnxruntime-node, which has no headers. The C API is a table of functions that
// is only ever appended to, so a function is identified by its position. Node's own time and memory would count against
// ONNX Runtime; direct calls keep them out of the comparison.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace epiphyte::test {

class OrtLibrary {
 public:
  // Throws std::runtime_error when the library can't be opened or is not ONNX Runtime.
  explicit OrtLibrary(const std::filesystem::path& path);
  ~OrtLibrary();
  OrtLibrary(const OrtLibrary&) = delete;
  OrtLibrary& operator=(const OrtLibrary&) = delete;

  const std::string& version() const { return version_; }

  // Positions in the table of functions, fixed by version 1 of the API.
  enum Slot : int {
    kGetErrorMessage = 2,
    kCreateEnv = 3,
    kCreateSession = 7,
    kCreateSessionFromArray = 8,
    kRun = 9,
    kCreateSessionOptions = 10,
    kSetIntraOpNumThreads = 24,
    kSetInterOpNumThreads = 25,
    kSessionGetInputCount = 30,
    kSessionGetOutputCount = 31,
    kSessionGetInputName = 36,
    kSessionGetOutputName = 37,
    kCreateTensorWithData = 49,
    kGetTensorMutableData = 51,
    kGetTensorElementType = 60,
    kGetDimensionsCount = 61,
    kGetDimensions = 62,
    kGetTensorTypeAndShape = 65,
    kCreateCpuMemoryInfo = 69,
    kAllocatorFree = 76,
    kGetAllocatorWithDefaultOptions = 78,
    kReleaseEnv = 92,
    kReleaseStatus = 93,
    kReleaseMemoryInfo = 94,
    kReleaseSession = 95,
    kReleaseValue = 96,
    kReleaseTensorTypeAndShapeInfo = 99,
    kReleaseSessionOptions = 100,
  };

  // Calls a function that returns a status; throws std::runtime_error with its message.
  template <typename... Args>
  void Call(Slot slot, Args... args) const {
    Check(reinterpret_cast<void* (*)(Args...)>(functions_[slot])(args...));
  }
  void Release(Slot slot, void* object) const { reinterpret_cast<void (*)(void*)>(functions_[slot])(object); }

  void* environment() const { return environment_; }

 private:
  void Check(void* status) const;

  void* const* functions_ = nullptr;
  void* environment_ = nullptr;
  std::string version_;
};

// A view of a tensor's memory; `type` is a TensorProto.DataType.
struct OrtTensor {
  int type = 0;
  std::vector<int64_t> dims;
  void* data = nullptr;
  size_t bytes = 0;
};

// A session on the CPU provider, with one thread between operators.
class OrtSession {
 public:
  OrtSession(const OrtLibrary& ort, const std::filesystem::path& model, int threads);
  // `model` needs to live only until the constructor returns.
  OrtSession(const OrtLibrary& ort, std::span<const std::byte> model, int threads);
  ~OrtSession();
  OrtSession(const OrtSession&) = delete;
  OrtSession& operator=(const OrtSession&) = delete;

  const std::vector<std::string>& output_names() const { return output_names_; }

 private:
  friend class OrtBinding;
  template <typename... Model>
  void Create(OrtLibrary::Slot slot, int threads, Model... model);
  std::vector<std::string> Names(OrtLibrary::Slot count_slot, OrtLibrary::Slot name_slot) const;

  const OrtLibrary& ort_;
  void* memory_info_ = nullptr;
  void* session_ = nullptr;
  std::vector<std::string> input_names_, output_names_;
  std::vector<const char*> input_name_pointers_, output_name_pointers_;
};

// Inputs and outputs that one caller binds to a session's runs. Several bindings of one session may run at once.
class OrtBinding {
 public:
  // `inputs` are in the model's order. They are viewed, not copied: tensors and session must outlive the binding.
  OrtBinding(const OrtSession& session, std::span<const OrtTensor> inputs);
  ~OrtBinding();
  OrtBinding(const OrtBinding&) = delete;
  OrtBinding& operator=(const OrtBinding&) = delete;

  // Allocates new outputs. Those of the previous run must have been released.
  void Run();
  void ReleaseOutputs();
  // Outputs of the last run, valid until ReleaseOutputs; `bytes` is not set.
  std::vector<OrtTensor> Outputs() const;

 private:
  const OrtSession& session_;
  std::vector<void*> inputs_, outputs_;
};

}  // namespace epiphyte::test
