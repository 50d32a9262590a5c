#include "host/cli/value_summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace epiphyte::cli {
namespace {

template <typename T>
Json StatisticsOf(std::span<const T> data) {
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  double sum = 0;
  uint64_t nan = 0;
  for (T element : data) {
    double number = static_cast<double>(element);
    if (std::isnan(number)) {
      ++nan;
      continue;
    }
    least = std::min(least, number);
    most = std::max(most, number);
    sum += number;
  }
  uint64_t numbers = data.size() - nan;
  if (numbers == 0) return {{"min", nullptr}, {"max", nullptr}, {"mean", nullptr}, {"nan", nan}};
  return {{"min", least}, {"max", most}, {"mean", sum / static_cast<double>(numbers)}, {"nan", nan}};
}

}  // namespace

std::string TypeText(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kSequence: return "sequence of " + std::to_string(value.elements().size());
    case ValueKind::kMap: return "map";
    case ValueKind::kTensor: break;
    default: return "empty";
  }
  std::vector<std::string> dims;
  for (int64_t dim : value.shape()) dims.push_back(std::to_string(dim));
  return "tensor(" + std::string(ElementTypeName(value.element_type())) + ")[" + Join(dims, ",") + "]";
}

Json Statistics(const Value& value) {
  if (!value.IsTensor()) return nullptr;
  switch (value.element_type()) {
    case ElementType::kFloat: return StatisticsOf(value.Data<float>());
    case ElementType::kDouble: return StatisticsOf(value.Data<double>());
    case ElementType::kInt8: return StatisticsOf(value.Data<int8_t>());
    case ElementType::kInt16: return StatisticsOf(value.Data<int16_t>());
    case ElementType::kInt32: return StatisticsOf(value.Data<int32_t>());
    case ElementType::kInt64: return StatisticsOf(value.Data<int64_t>());
    case ElementType::kUint8: return StatisticsOf(value.Data<uint8_t>());
    case ElementType::kUint16: return StatisticsOf(value.Data<uint16_t>());
    case ElementType::kUint32: return StatisticsOf(value.Data<uint32_t>());
    case ElementType::kUint64: return StatisticsOf(value.Data<uint64_t>());
    case ElementType::kBool: return StatisticsOf(value.Data<bool>());
    default: return nullptr;
  }
}

}  // namespace epiphyte::cli
