// OwnedValue: a value of the host's, made in Execute: a tensor, sequence, map or empty optional on its way to an
// output.
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

// Holds one reference; good in the Execute that made it only.
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
