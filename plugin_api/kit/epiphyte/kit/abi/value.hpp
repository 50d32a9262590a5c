// OwnedValue: a tensor, sequence, map or empty optional that Execute makes on its way to an output. The host owns the
// value.
//
//   std::vector<kit::OwnedValue> rows;
//   for (…) {
//     void* data = nullptr;
//     rows.push_back(run.MakeTensor(EP_TYPE_FLOAT, dims, &data));
//     Fill(data);
//   }
//   run.SetOutput(0, run.MakeSequence(EP_TYPE_FLOAT, rows));
#pragma once

#include <utility>

#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::kit {

// Holds one reference to the value. Valid only during the Execute that made it.
class OwnedValue {
 public:
  OwnedValue() = default;
  OwnedValue(const EpHostInfo& host, EpValue* value) : host_(&host), value_(value) {}
  OwnedValue(OwnedValue&& other) noexcept : host_(other.host_), value_(std::exchange(other.value_, nullptr)) {}
  OwnedValue& operator=(OwnedValue other) noexcept {
    std::swap(host_, other.host_);
    std::swap(value_, other.value_);
    return *this;
  }
  ~OwnedValue() {
    if (value_ != nullptr) host_->run->ReleaseValue(value_);
  }

  explicit operator bool() const { return value_ != nullptr; }
  EpValue* handle() const { return value_; }

 private:
  const EpHostInfo* host_ = nullptr;
  EpValue* value_ = nullptr;
};

}  // namespace epiphyte::kit
