#include "plugins/cpu/exec/plan_def.h"

namespace epiphyte::cpu {

ArgumentType ToArgument(const EpValueDefInfo& info) { return ToArgument(ir::ImportValue(info)); }

void DescribeArguments(const std::vector<int32_t>& arguments, const std::vector<ValueInfo>& values,
                       std::vector<ArgumentType>* described) {
  described->clear();
  for (int32_t value : arguments)
    described->push_back(value < 0 ? ArgumentType() : ToArgument(values[static_cast<size_t>(value)]));
}

}  // namespace epiphyte::cpu
