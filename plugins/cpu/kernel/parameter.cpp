#include "plugins/cpu/kernel/parameter.h"

#include "plugins/cpu/kernel/dispatch.h"

namespace epiphyte::cpu {
namespace {

bool Has(OpContext& context, size_t i) { return i < context.InputCount() && context.HasInput(i); }

}  // namespace

const Tensor& Parameter(OpContext& context, size_t i, std::string_view name, TypeSet types) {
  if (!Has(context, i)) FailOp("input {} ({}) is absent; one element of {} expected", i, name, TypeNames(types));
  const Tensor& tensor = context.Input(i);
  if (!Contains(types, tensor.type) || tensor.Count() != 1)
    FailOp("input {} ({}) is {} of shape {}; one element of {} expected", i, name, TypeName(tensor.type),
           ShapeText(tensor.dims), TypeNames(types));
  return tensor;
}

const Tensor* OptionalParameter(OpContext& context, size_t i, std::string_view name, TypeSet types) {
  return Has(context, i) ? &Parameter(context, i, name, types) : nullptr;
}

const Tensor& ParameterPerItem(OpContext& context, size_t i, std::string_view name, int64_t count,
                               std::string_view item, TypeSet types) {
  const Tensor& tensor = context.Input(i);
  if (!Contains(types, tensor.type) || (tensor.Count() != 1 && tensor.Count() != count))
    FailOp("input {} ({}) is {} of shape {}; one element of {} expected, or one for each {}: {}", i, name,
           TypeName(tensor.type), ShapeText(tensor.dims), TypeNames(types), item, count);
  return tensor;
}

int64_t IntegerIn(const Tensor& one) {
  int64_t value = 0;
  DispatchIntegers(one.type, "a parameter", [&]<typename T>() {
    const T element = *one.as<T>();
    if constexpr (std::is_same_v<T, uint64_t>)
      value = element > static_cast<uint64_t>(INT64_MAX) ? INT64_MAX : static_cast<int64_t>(element);
    else
      value = element;
  });
  return value;
}

double RealIn(const Tensor& one) {
  double value = 0;
  DispatchNumbers(one.type, "a parameter",
                  [&]<typename T>() { value = static_cast<double>(static_cast<Compute<T>>(*one.as<T>())); });
  return value;
}

int64_t IntegerParameter(OpContext& context, size_t i, std::string_view name, TypeSet types) {
  return IntegerIn(Parameter(context, i, name, types));
}
double RealParameter(OpContext& context, size_t i, std::string_view name, TypeSet types) {
  return RealIn(Parameter(context, i, name, types));
}
float FloatParameter(OpContext& context, size_t i, std::string_view name, TypeSet types) {
  return static_cast<float>(RealParameter(context, i, name, types));
}
bool FlagParameter(OpContext& context, size_t i, std::string_view name) {
  return *Parameter(context, i, name, Types(EP_TYPE_BOOL)).as<uint8_t>() != 0;
}

}  // namespace epiphyte::cpu
