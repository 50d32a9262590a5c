// EncryptedStore: a folder of encrypted files. Plaintext exists in memory only.
//
// The .onnx is stored too, because it holds the weights of nodes that were not compiled. A payload is decrypted into
// one allocation of its size. The plugin uses it in place, and it is wiped before it is freed.
#pragma once

#include <epiphyte/context_store.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "chunk_cipher.h"

namespace encrypted_store {

class EncryptedStore : public epiphyte::ContextStore {
 public:
  EncryptedStore(std::filesystem::path folder, const Key& key) : folder_(std::move(folder)), key_(key) {}

  bool StoresModel() const override { return true; }
  bool Exists(const std::string& name) override;
  std::unique_ptr<Writer> Create(const std::string& name) override;
  Bytes Open(const std::string& name) override;

 private:
  std::filesystem::path PathOf(const std::string& name) const;

  std::filesystem::path folder_;
  Key key_;
};

}  // namespace encrypted_store
