#include "host/conformance/plugin/kernel_info.h"

#include <algorithm>

namespace epiphyte::conformance {
namespace {

constexpr std::initializer_list<Rule> kOfInfos = {Rule::kDescribeKernelWorks,    Rule::kKernelInfoFits,
                                                  Rule::kPlacesNeedTheExtension, Rule::kKernelRunsOnADevice,
                                                  Rule::kKernelMemoriesExist,    Rule::kAliasesAreInputs};

template <typename T>
std::vector<T> Copied(const T* items, uint32_t count) {
  if (items == nullptr) return {};
  return {items, items + count};
}

}  // namespace

KernelInfo::KernelInfo(DebugHost& host, const EpProviderApi& api, PluginDevices* devices, uint32_t device,
                       EpKernel* kernel, const GraphSpec& partition) {
  if (api.DescribeKernel == nullptr) {
    for (const Rule rule : kOfInfos) host.journal().NotApplicable(rule, "the plugin has no DescribeKernel");
    host.journal().NotApplicable(Rule::kKernelArraysStay, "the plugin has no DescribeKernel");
    return;
  }
  EpKernelInfo info = {};
  info.struct_size = sizeof(info);
  const DebugHost::Failure failure =
      CallPlugin(host, Rule::kDescribeKernelWorks, "DescribeKernel", [&] { return api.DescribeKernel(kernel, &info); });
  if (failure) EndWith(host, Rule::kDescribeKernelWorks, Describe(failure));
  if (EP_HAS_FIELD(&info, EpKernelInfo, flags)) info_.flags = info.flags;
  if (EP_HAS_FIELD(&info, EpKernelInfo, output_aliases)) info_ = info;
  Demand(host, info_.reserved == 0, Rule::kKernelInfoFits,
         "reserved of a kernel info is " + std::to_string(info_.reserved));
  Demand(host, info_.input_count <= partition.inputs.size() && info_.output_count <= partition.outputs.size(),
         Rule::kKernelInfoFits,
         "DescribeKernel counts " + std::to_string(info_.input_count) + " inputs and " +
             std::to_string(info_.output_count) + " outputs, the partition has " +
             std::to_string(partition.inputs.size()) + " and " + std::to_string(partition.outputs.size()));
  host.Step("reading the arrays of a kernel info");
  places_.async = (info_.flags & EP_KERNEL_ASYNC) != 0;
  places_.device = info_.device;
  places_.inputs = Copied(info_.input_memories, info_.input_count);
  places_.outputs = Copied(info_.output_memories, info_.output_count);
  places_.aliases = Copied(info_.output_aliases, info_.output_count);
  Demand(
      host, info_.device == device, Rule::kKernelRunsOnADevice,
      "DescribeKernel names device " + std::to_string(info_.device) + ", the provider has " + std::to_string(device));
  for (size_t i = 0; i < places_.aliases.size(); ++i) {
    const int32_t alias = places_.aliases[i];
    Demand(host, alias >= -1 && alias < static_cast<int64_t>(partition.inputs.size()), Rule::kAliasesAreInputs,
           "the alias of output " + std::to_string(i) + " is " + std::to_string(alias) + ", the partition has " +
               std::to_string(partition.inputs.size()) + " inputs");
  }
  CheckPlaces(host, devices);
  for (const Rule rule : kOfInfos) host.journal().Pass(rule);
}

void KernelInfo::CheckPlaces(DebugHost& host, PluginDevices* devices) const {
  const bool aliases =
      std::any_of(places_.aliases.begin(), places_.aliases.end(), [](int32_t alias) { return alias >= 0; });
  const auto beyond_host = [](uint32_t memories) { return (memories & ~EP_MEMORIES_HOST) != 0; };
  const bool memories = std::any_of(places_.inputs.begin(), places_.inputs.end(), beyond_host) ||
                        std::any_of(places_.outputs.begin(), places_.outputs.end(), beyond_host);
  if (devices == nullptr) {
    return Demand(host, !places_.async && !aliases && !memories, Rule::kPlacesNeedTheExtension,
                  "a kernel is ASYNC or names memories or aliases, and GetExtension has no table for '" +
                      std::string(EP_DEVICE_EXTENSION) + "'");
  }
  const size_t count = devices->Memories(places_.device).size();
  const auto check = [&](const std::vector<uint32_t>& sets, const char* what) {
    for (size_t i = 0; i < sets.size(); ++i) {
      Demand(host, (sets[i] >> 1 >> count) == 0, Rule::kKernelMemoriesExist,
             std::string("the memories of ") + what + " " + std::to_string(i) + " are the set " +
                 std::to_string(sets[i]) + ", the device has " + std::to_string(count));
    }
  };
  check(places_.inputs, "input");
  check(places_.outputs, "output");
}

void KernelInfo::CheckArrays(DebugHost& host) const {
  if (info_.struct_size == 0) return;
  const Rule blamed = host.blamed();
  host.BlameCrashesOn(Rule::kKernelArraysStay);
  host.Step("reading the arrays of a kernel info again");
  const bool same = places_.inputs == Copied(info_.input_memories, info_.input_count) &&
                    places_.outputs == Copied(info_.output_memories, info_.output_count) &&
                    places_.aliases == Copied(info_.output_aliases, info_.output_count);
  host.BlameCrashesOn(blamed);
  Demand(host, same, Rule::kKernelArraysStay, "an array of a kernel info has changed");
  host.journal().Pass(Rule::kKernelArraysStay);
}

}  // namespace epiphyte::conformance
