// ContextStore: where the files of a context model live when the application keeps them itself: encrypted, in memory,
// in a content store.
//
// Session options may name one. Then the payloads of EPContext nodes and the external initializers of a context model
// are written and read through it and never touch the file system; with StoresModel() the .onnx too. Names are those
// that the model uses ("model_cpu.bin"), checked by the rules of base/safe_path.h for names.
//
// Digests are over the bytes that the plugin sees, so an application's damage is found like a file's.
// Functions are called from the thread that creates the session; Bytes::owner may be released on any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace epiphyte::core {

class ContextStore {
 public:
  struct Bytes {
    const void* data = nullptr;
    uint64_t size = 0;
    std::shared_ptr<const void> owner;  // keeps the bytes alive and unchanged
  };
  class Writer {
   public:
    virtual ~Writer() = default;  // without Commit: nothing must remain
    virtual void Write(const void* data, uint64_t size) = 0;
    // Makes the bytes visible under their name. Called in an order in which nothing refers to what isn't there yet.
    virtual void Commit() = 0;
  };

  virtual ~ContextStore() = default;
  // Also the .onnx is written through the store. It is read by creating the session from memory.
  virtual bool StoresModel() const { return false; }
  virtual bool Exists(const std::string& name) = 0;
  virtual std::unique_ptr<Writer> Create(const std::string& name) = 0;
  // Throws Error; NO_SUCHFILE when there is none.
  virtual Bytes Open(const std::string& name) = 0;
};

}  // namespace epiphyte::core
