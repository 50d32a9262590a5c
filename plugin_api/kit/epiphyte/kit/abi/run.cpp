#include "epiphyte/kit/abi/run.hpp"

#include "epiphyte/kit/abi/extension.hpp"
#include "epiphyte/kit/abi/process_end.hpp"

namespace epiphyte::kit {
namespace {

uint32_t RankOf(std::span<const int64_t> dims) { return static_cast<uint32_t>(dims.size()); }

// Checks that there are as many strings as the dimensions say, because the host reads that many.
void CheckCount(std::span<const int64_t> dims, std::span<const EpString> strings) {
  uint64_t count = 1;
  for (const int64_t dim : dims) count *= static_cast<uint64_t>(dim);
  if (count != strings.size()) {
    throw Error(EP_STATUS_INVALID_ARGUMENT, std::to_string(strings.size()) + " strings given for a tensor of " +
                                                std::to_string(count) + " elements");
  }
}

}  // namespace

void Run::FailInput(size_t i, const char* expected) const {
  throw Error(
      EP_STATUS_INVALID_ARGUMENT,
      "input " + std::to_string(i) + (HasInput(i) ? " is no tensor" : " is absent") + "; " + expected + " expected");
}

void Run::SetStrings(uint32_t i, std::span<const int64_t> dims, std::span<const EpString> strings) const {
  CheckCount(dims, strings);
  ThrowIfFailed(host_, host_.run->SetStringOutput(run_, i, dims.data(), RankOf(dims), strings.data()));
}

OwnedValue Run::MakeTensor(EpElementType type, std::span<const int64_t> dims, void** data) const {
  EpValue* value = nullptr;
  ThrowIfFailed(host_, host_.run->CreateTensor(run_, type, dims.data(), RankOf(dims), &value, data));
  return OwnedValue(host_, value);
}

OwnedValue Run::MakeStrings(std::span<const int64_t> dims, std::span<const EpString> strings) const {
  CheckCount(dims, strings);
  EpValue* value = nullptr;
  ThrowIfFailed(host_, host_.run->CreateStringTensor(run_, dims.data(), RankOf(dims), strings.data(), &value));
  return OwnedValue(host_, value);
}

OwnedValue Run::MakeSequence(EpElementType type, std::span<const OwnedValue> elements) const {
  std::vector<EpValue*> handles;
  handles.reserve(elements.size());
  for (const OwnedValue& element : elements) handles.push_back(element.handle());
  EpValue* value = nullptr;
  ThrowIfFailed(host_, host_.run->CreateSequence(run_, type, handles.data(), handles.size(), &value));
  return OwnedValue(host_, value);
}

OwnedValue Run::MakeMap(const OwnedValue& keys, const OwnedValue& values) const {
  EpValue* value = nullptr;
  ThrowIfFailed(host_, host_.run->CreateMap(run_, keys.handle(), values.handle(), &value));
  return OwnedValue(host_, value);
}

OwnedValue Run::MakeEmptyOptional() const {
  EpValue* value = nullptr;
  ThrowIfFailed(host_, host_.run->CreateEmptyOptional(run_, &value));
  return OwnedValue(host_, value);
}

OwnedValue Run::Share(const EpValueView& view) const {
  EpValue* value = nullptr;
  ThrowIfFailed(host_, host_.run->ShareValue(run_, &view, &value));
  return OwnedValue(host_, value);
}

void Run::SetOutput(uint32_t i, const OwnedValue& value) const {
  ThrowIfFailed(host_, host_.run->SetOutput(run_, i, value.handle()));
}

void Run::ThrowIfCancelled() const {
  if (ProcessEnd::HasBegun() || IsCancelled()) throw Error(EP_STATUS_CANCELED, "the run was cancelled");
}

std::optional<std::string_view> Run::Option(std::string_view key) const {
  for (uint32_t i = 0; i < info_.option_count; ++i) {
    if (info_.options[i].key == key) return info_.options[i].value;
  }
  return std::nullopt;
}

RunLimits::RunLimits(const EpHostInfo& host)
    : host_(&host), api_(FindExtension<EpRunLimitsApi>(host, EP_RUN_LIMITS_EXTENSION)) {}

void RunLimits::Take(EpRun* run, uint64_t bytes) const {
  if (api_ != nullptr) ThrowIfFailed(*host_, api_->TakeMemory(run, bytes));
}

void RunLimits::Return(EpRun* run, uint64_t bytes) const {
  if (api_ != nullptr) api_->ReturnMemory(run, bytes);
}

}  // namespace epiphyte::kit
