// OrtLibrary: the few calls of ONNX Runtime's C API that a comparison needs, from a shared library given at run time.
//
//   OrtLibrary ort("node_modules/onnxruntime-node/bin/napi-v6/linux/x64/libonnxruntime.so.1");
//   OrtSession session(ort, "model.onnx", 2);
//
// The library comes from the npm package onnxruntime-node, which has no headers. The C API is a table of functions that
// is only ever appended to, so a function is a position in it. Calling it directly leaves node's own time and memory
// out of the comparison, which would otherwise be counted against ONNX Runtime.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/graph/value.h"

namespace epiphyte::test {

class OrtLibrary {
 public:
  // Throws std::runtime_error when the library can't be opened or is no ONNX Runtime.
  explicit OrtLibrary(const std::filesystem::path& path);
  ~OrtLibrary();
  OrtLibrary(const OrtLibrary&) = delete;
  OrtLibrary& operator=(const OrtLibrary&) = delete;

  const std::string& version() const { return version_; }

  // Positions in the table of functions, which version 1 of the API fixed.
  enum Slot : int {
    kGetErrorMessage = 2,
    kCreateEnv = 3,
    kCreateSession = 7,
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

// A session on the CPU provider, with one thread between operators.
class OrtSession {
 public:
  OrtSession(const OrtLibrary& ort, const std::filesystem::path& model, int threads);
  ~OrtSession();
  OrtSession(const OrtSession&) = delete;
  OrtSession& operator=(const OrtSession&) = delete;

  size_t input_count() const { return input_names_.size(); }
  // Inputs are viewed, not copied: they outlive the session.
  void SetInputs(std::span<const core::ValuePtr> inputs);
  // Fresh outputs in place of those of the run before, which must have been released.
  void Run();
  void ReleaseOutputs();
  // Copies of the outputs of the last run.
  std::vector<core::ValuePtr> Outputs() const;
  const std::vector<std::string>& output_names() const { return output_names_; }

 private:
  std::vector<std::string> Names(OrtLibrary::Slot count_slot, OrtLibrary::Slot name_slot) const;

  const OrtLibrary& ort_;
  void* memory_info_ = nullptr;
  void* session_ = nullptr;
  std::vector<std::string> input_names_, output_names_;
  std::vector<const char*> input_name_pointers_, output_name_pointers_;
  std::vector<void*> inputs_, outputs_;
};

}  // namespace epiphyte::test
