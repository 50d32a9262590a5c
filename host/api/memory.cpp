#include "epiphyte/memory.hpp"

#include "host/api/access.h"

namespace epiphyte {
namespace {

template <typename Impl>
Impl& Existing(const std::shared_ptr<Impl>& impl) {
  if (!impl) {
    throw Error(StatusCode::kInvalidArgument,
                "an empty memory found, a device's expected; take one from Session::memories()");
  }
  return *impl;
}

bool Has(uint32_t types, HandleType type) { return (types & static_cast<uint32_t>(type)) != 0; }

}  // namespace

bool Memory::operator==(const Memory& other) const {
  if (!impl_ || !other.impl_) return !impl_ && !other.impl_;
  return impl_->memory == other.impl_->memory;
}

const std::string& Memory::provider() const { return Existing(impl_).memory->plugin().name; }

uint32_t Memory::device() const { return Existing(impl_).memory->device(); }

const std::string& Memory::name() const { return Existing(impl_).memory->name(); }

bool Memory::local() const { return Existing(impl_).memory->local(); }

bool Memory::mappable() const { return Existing(impl_).memory->mappable(); }

bool Memory::CanImport(HandleType type) const { return Has(Existing(impl_).memory->import_types(), type); }

bool Memory::CanExport(HandleType type) const { return Has(Existing(impl_).memory->export_types(), type); }

MemoryUse Memory::use() const {
  return WithPublicErrors([&] {
    const core::DeviceMemory::Use use = Existing(impl_).memory->use();
    return MemoryUse{use.value_bytes, use.kept_bytes, use.buffers, use.allocations, use.plugin_used, use.plugin_total};
  });
}

void Memory::Trim() {
  WithPublicErrors([&] { Existing(impl_).memory->Trim(); });
}

}  // namespace epiphyte
