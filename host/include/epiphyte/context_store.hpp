// ContextStore: where the files of a context model live when the application keeps them itself: encrypted, in memory,
// in a content store.
//
// With one in the session options, the payloads of EPContext nodes and the external initializers of a context model are
// written and read through it and never touch the file system; with StoresModel() the .onnx too. Names are those that
// the model uses ("model_cpu.bin"): relative, without "..".
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
// What a plugin sees is compared with the digests in the model, so damage on the way is found like a file's. Functions
// are called from the thread that creates the session; what they throw becomes the session's error, with the code of an
// epiphyte::Error, FAIL otherwise. host/examples/encrypted_store is a whole application.
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
    // Keeps the bytes alive and unchanged; let go of on any thread, when the last kernel that uses them has gone.
    std::shared_ptr<const void> owner;
  };

  class EPIPHYTE_API Writer {
   public:
    Writer();
    virtual ~Writer();  // without Commit: nothing must remain
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    virtual void Write(const void* data, uint64_t size) = 0;
    // Makes the bytes visible under their name, in place of what was there. Called in an order in which nothing refers
    // to what isn't there yet.
    virtual void Commit() = 0;
  };

  ContextStore();
  virtual ~ContextStore();
  ContextStore(const ContextStore&) = delete;
  ContextStore& operator=(const ContextStore&) = delete;

  // Also the .onnx is written through the store. It is read by creating the session from memory.
  virtual bool StoresModel() const { return false; }
  virtual bool Exists(const std::string& name) = 0;
  virtual std::unique_ptr<Writer> Create(const std::string& name) = 0;
  // Throws epiphyte::Error: NO_SUCHFILE when there is none.
  virtual Bytes Open(const std::string& name) = 0;

 private:
  friend class Access;
  class Adapter;
  std::unique_ptr<Adapter> adapter_;  // the core's view of this store
};

}  // namespace epiphyte
