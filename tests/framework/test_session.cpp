#include "tests/framework/test_session.h"

#include <algorithm>

#include "core/graph/value.h"

namespace epiphyte::test {

using core::DataType;
using core::Value;
using core::ValuePtr;

std::unique_ptr<core::Environment> BuildTreeEnvironment() {
  core::CatalogOptions options;
  options.use_environment = false;
  options.use_user_folder = false;
  return std::make_unique<core::Environment>(std::move(options));
}

ValuePtr Floats(std::vector<int64_t> dims, std::vector<float> values) {
  ValuePtr value = Value::Tensor(DataType::kFloat, dims);
  std::copy(values.begin(), values.end(), static_cast<float*>(value->mutable_data()));
  return value;
}

ValuePtr Int64s(std::vector<int64_t> dims, std::vector<int64_t> values) {
  ValuePtr value = Value::Tensor(DataType::kInt64, dims);
  std::copy(values.begin(), values.end(), static_cast<int64_t*>(value->mutable_data()));
  return value;
}

ValuePtr Bools(std::vector<int64_t> dims, std::vector<bool> values) {
  ValuePtr value = Value::Tensor(DataType::kBool, dims);
  std::copy(values.begin(), values.end(), static_cast<uint8_t*>(value->mutable_data()));
  return value;
}

std::vector<float> FloatsOf(const Value& value) {
  return {value.data_as<float>(), value.data_as<float>() + value.element_count()};
}

std::vector<int64_t> Int64sOf(const Value& value) {
  return {value.data_as<int64_t>(), value.data_as<int64_t>() + value.element_count()};
}

core::SessionOptions OptionsFor(std::vector<std::string> providers) {
  core::SessionOptions options;
  options.thread_count = 1;
  for (std::string& name : providers) options.providers.push_back({std::move(name), {}});
  return options;
}

}  // namespace epiphyte::test
