// ContextStore::Adapter: presents an application's store to the core as a core::ContextStore.
#pragma once

#include <memory>
#include <string>

#include "core/context/context_store.h"
#include "epiphyte/context_store.hpp"

namespace epiphyte {

class ContextStore::Adapter : public core::ContextStore {
 public:
  explicit Adapter(epiphyte::ContextStore& store) : store_(store) {}

  bool StoresModel() const override;
  bool Exists(const std::string& name) override;
  std::unique_ptr<Writer> Create(const std::string& name) override;
  Bytes Open(const std::string& name) override;

 private:
  epiphyte::ContextStore& store_;
};

}  // namespace epiphyte
