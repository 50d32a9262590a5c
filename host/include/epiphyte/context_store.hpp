// ContextStore: interface for an application that stores the files of a context model itself: encrypted, in memory, in
// a content store.
//
// If the session options have a store, the payloads of EPContext nodes and the external initializers of a context model
// are written and read through it and never touch the file system. With StoresModel() the .onnx is stored too. Names
// are those that the model uses ("model_cpu.bin"): relative, without "..".
//
//   class Memory : public epiphyte::ContextStore {
//    public:
//     bool Exists(const std::string& name) override { return files_.contains(name); }
//     std::unique_ptr<Writer> Create(const std::string& name) override;
//     Bytes Open(const std::string& name) override;
//     …
//   };
//   options.SetContextStore(std::make_shared<Memory>());
//
// The bytes from the store are compared with the digests in the model, so damage is detected as for files. Functions
// are called from the thread that creates the session. An exception becomes the session's error: an epiphyte::Error
// keeps its code, any other exception gives FAIL. host/examples/encrypted_store is a complete application.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "epiphyte/export.hpp"

namespace epiphyte {

class EPIPHYTE_API ContextStore {
 public:
  struct Bytes {
    const void* data = nullptr;
    uint64_t size = 0;
    // Keeps the bytes alive and unchanged. Released on any thread, after the last kernel that uses the bytes is
    // destroyed.
    std::shared_ptr<const void> owner;
  };

  class EPIPHYTE_API Writer {
   public:
    Writer();
    virtual ~Writer();  // without Commit, no bytes may remain in the store
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    virtual void Write(const void* data, uint64_t size) = 0;
    // Makes the bytes visible under their name and replaces earlier content. Files are committed before the files that
    // refer to them.
    virtual void Commit() = 0;
  };

  ContextStore();
  virtual ~ContextStore();
  ContextStore(const ContextStore&) = delete;
  ContextStore& operator=(const ContextStore&) = delete;

  // Returns true if the .onnx is written through the store, too. To read such a model, create the session from memory.
  virtual bool StoresModel() const { return false; }
  virtual bool Exists(const std::string& name) = 0;
  virtual std::unique_ptr<Writer> Create(const std::string& name) = 0;
  // Throws epiphyte::Error with NO_SUCHFILE when the name doesn't exist.
  virtual Bytes Open(const std::string& name) = 0;

 private:
  friend class Access;
  class Adapter;
  std::unique_ptr<Adapter> adapter_;  // the core's view of this store
};

}  // namespace epiphyte
