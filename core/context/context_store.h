// ContextStore: the application's own storage for the files of a context model: encrypted, in memory, or in a content
// store.
//
// Session options may name a store. Payloads of EPContext nodes and external initializers are then written and read
// through it and never touch the file system; with StoresModel() the .onnx too. Names are the names in the model
// ("model_cpu.bin"), checked by the rules of base/safe_path.h for names.
//
// Digests are over the bytes that the plugin sees, so damage in the store is found as damage in a file is. Functions
// are called from the thread that creates the session; Bytes::owner may be released on any thread.
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
    virtual ~Writer() = default;  // a writer destroyed without Commit must leave nothing behind
    virtual void Write(const void* data, uint64_t size) = 0;
    // Makes the bytes visible under their name. Commits come in an order in which no file refers to a missing one.
    virtual void Commit() = 0;
  };

  virtual ~ContextStore() = default;
  // Whether the .onnx is written through the store, too. It is read by creating the session from memory.
  virtual bool StoresModel() const { return false; }
  virtual bool Exists(const std::string& name) = 0;
  virtual std::unique_ptr<Writer> Create(const std::string& name) = 0;
  // Throws Error: NO_SUCHFILE when the name doesn't exist.
  virtual Bytes Open(const std::string& name) = 0;
};

}  // namespace epiphyte::core
