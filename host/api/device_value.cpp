// Values in device memory.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/device/transfer.h"
#include "core/runtime/session_memory.h"
#include "epiphyte/value.hpp"
#include "host/api/access.h"
#include "host/api/tensor_checks.h"

namespace epiphyte {
namespace {

std::string TextOf(core::DataType type, std::span<const int64_t> dims) {
  return fmt::format("{}[{}]", core::DataTypeName(type), fmt::join(dims, ","));
}

std::string TextOf(const core::Value& tensor) { return TextOf(tensor.type(), tensor.dims()); }

EpExternalMemory ToAbi(const ExternalMemory& external) {
  const bool is_address = external.type == HandleType::kHostPointer || external.type == HandleType::kWin32;
  EpExternalMemory given{};
  given.struct_size = sizeof given;
  given.type = static_cast<EpHandleType>(external.type);
  given.pointer = is_address ? external.pointer : nullptr;
  given.handle = is_address ? 0 : external.handle;
  given.offset = external.offset;
  given.size = external.size;
  return given;
}

// Calls the application's function when the last owner of a value releases it. Does nothing before Set.
class Release {
 public:
  Release() = default;
  ~Release() {
    if (call_) call_();
  }
  Release(const Release&) = delete;
  Release& operator=(const Release&) = delete;
  void Set(std::function<void()> call) { call_ = std::move(call); }

 private:
  std::function<void()> call_;
};

core::ValuePtr OnHost(core::ValuePtr value) {
  const core::DeviceAllocation* piece = value ? core::PieceOf(*value) : nullptr;
  return piece == nullptr ? value : core::ToHost(value, core::Environment::Of(*piece)->devices());
}

core::ValuePtr CopyOnHost(const core::ValuePtr& value) {
  if (core::PieceOf(*value) != nullptr) return OnHost(value);
  return core::Value::CopyOf(*value);
}

// Copies a value to host memory if it is on a device of another environment, because an environment can't use such
// devices.
core::ValuePtr KnownTo(const core::Environment* environment, core::ValuePtr value) {
  const core::DeviceAllocation* piece = core::PieceOf(*value);
  return piece == nullptr || core::Environment::Of(*piece).get() == environment ? value : OnHost(std::move(value));
}

}  // namespace

core::ValuePtr Access::ShareOnHost(const Value& value) { return OnHost(Share(value)); }

Value Value::In(const Memory& memory, ElementType type, const Shape& shape) {
  const auto* home = Access::Of(memory);
  if (home == nullptr) return Tensor(type, shape);
  return WithPublicErrors([&] {
    const core::DataType plain = PlainType(type);
    const uint64_t bytes = PlainBytes(plain, shape);
    return Access::Wrap(core::Value::OnDevice(
        plain, shape, home->memory->Take(bytes, home->account, "a value of " + TextOf(plain, shape))));
  });
}

Value Value::Import(const Memory& memory, ElementType type, const Shape& shape, const ExternalMemory& external,
                    std::function<void()> release) {
  return WithPublicErrors([&] {
    const auto* home = Access::Of(memory);
    if (home == nullptr) {
      throw Error(StatusCode::kInvalidArgument, "host memory needs no import; use Value::Wrap, or a device's memory");
    }
    const core::DataType plain = PlainType(type);
    if (external.size < PlainBytes(plain, shape)) {
      throw Error(StatusCode::kInvalidArgument,
                  fmt::format("{} bytes of external memory given, {} needed for {}; give memory of the tensor's size",
                              external.size, PlainBytes(plain, shape), TextOf(plain, shape)));
    }
    const auto keep = std::make_shared<Release>();
    core::ValuePtr value = core::Value::OnDevice(plain, shape, home->memory->Import(ToAbi(external), keep));
    keep->Set(std::move(release));
    return Access::Wrap(std::move(value));
  });
}

ExternalMemory Value::Export(HandleType type) const {
  return WithPublicErrors([&] {
    core::DeviceAllocation* piece = core::PieceOf(AsPlainTensor(value_));
    if (piece == nullptr) {
      throw Error(StatusCode::kInvalidArgument,
                  "the tensor is in host memory, where data() is its address; copy it to "
                  "a device's memory with CopyTo before it is exported");
    }
    const EpExternalMemory whole = piece->pool()->Export(*piece, static_cast<EpHandleType>(type));
    return ExternalMemory{type, whole.pointer, whole.handle, whole.offset, piece->size()};
  });
}

Value Value::CopyTo(const Memory& memory) const {
  return WithPublicErrors([&] {
    AsPlainTensor(value_);
    const auto* home = Access::Of(memory);
    if (home == nullptr) return Access::Wrap(CopyOnHost(Access::Share(*this)));
    const core::ValuePtr value = KnownTo(home->environment.get(), Access::Share(*this));
    return Access::Wrap(core::ToDevice(*value, *home->memory, home->environment->devices(), home->account,
                                       "a copy of " + TextOf(*value)));
  });
}

Value Value::ToHost() const {
  return WithPublicErrors([&] { return Access::Wrap(Access::ShareOnHost(*this)); });
}

void Value::CopyFrom(const Value& source) {
  WithPublicErrors([&] {
    core::Value& to = AsWritableTensor(value_);
    const core::Value& from = AsPlainTensor(source.value_);
    if (from.type() != to.type() || !std::ranges::equal(from.dims(), to.dims())) {
      throw Error(StatusCode::kInvalidArgument,
                  fmt::format("{} given for {}; give a tensor of the same type and shape", TextOf(from), TextOf(to)));
    }
    if (&from == &to || to.byte_size() == 0) return;
    const core::DeviceAllocation* home = core::PieceOf(to.IsOnDevice() ? to : from);
    if (home == nullptr) {
      std::memmove(to.mutable_data(), from.data(), to.byte_size());
      return;
    }
    const std::shared_ptr<core::Environment> environment = core::Environment::Of(*home);
    core::CopyValue(*KnownTo(environment.get(), Access::Share(source)), to, environment->devices());
  });
}

Memory Value::memory() const {
  return WithPublicErrors([&] {
    const core::DeviceAllocation* piece = value_ == nullptr ? nullptr : core::PieceOf(*value_);
    if (piece == nullptr) return Memory();
    return Access::Wrap(core::Environment::Of(*piece), {piece->pool(), piece->account()});
  });
}

}  // namespace epiphyte
