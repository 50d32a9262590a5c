// Faults of the library, its table, and contexts. Each is a function of the table that wraps the correct one.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "complete.h"

namespace epiphyte::broken {
namespace {

NsdkApi right;

void VersionFaults(NsdkApi& table) {
  table.get_version_info = [](NsdkVersionInfo* info) {
    if (Fault("101_writes_whole_structs")) info->struct_size = std::max<uint32_t>(info->struct_size, sizeof *info);
    const NsdkStatus status = right.get_version_info(info);
    if (info->struct_size < sizeof *info) return status;
    static std::atomic<uint64_t> calls = 0;
    if (Fault("110_changes_with_calls")) info->build_id = ++calls % 2 == 0 ? "even" : "odd";
    if (Fault("123_writes_what_it_cant_load")) info->blob_version_min = 2, info->blob_version_max = 3;
    return status;
  };
}

void DeviceFaults(NsdkApi& table) {
  table.list_devices = [](uint32_t* count, NsdkDevice* devices) {
    const uint32_t room = *count;
    const NsdkStatus status = right.list_devices(count, devices);
    if (Fault("111_counts_room") && room > *count) *count = room;
    if (devices != nullptr && room > 0 && devices->struct_size >= sizeof *devices) {
      if (Fault("124_device_without_name")) devices->name = nullptr;
      if (Fault("129_device_of_another_architecture")) devices->architecture = "minimal-1";
    }
    return status;
  };
}

void ContextFaults(NsdkApi& table) {
  table.context_create = [](const NsdkContextOptions* theirs, NsdkContext** context, NsdkReason* reason) -> NsdkStatus {
    NsdkContextOptions options = {};
    std::memcpy(&options, theirs, std::min<size_t>(theirs->struct_size, sizeof options));
    options.struct_size = sizeof options;
    std::vector<NsdkOption> kept;
    for (uint32_t i = 0; i < options.option_count; ++i) {
      const bool known = std::string_view(options.options[i].key) == "lanes";
      if (!known && Fault("112_takes_any_option")) continue;
      if (known && atoi(options.options[i].value) == 0 && Fault("125_takes_any_value")) continue;
      kept.push_back(options.options[i]);
    }
    options.options = kept.data();
    options.option_count = static_cast<uint32_t>(kept.size());
    if (Fault("126_takes_any_device") && options.device != NSDK_WITHOUT_DEVICE) options.device = 0;
    Shared& shared = TheShared();
    if (Fault("128_one_context_only")) {
      const std::lock_guard lock(shared.lock);
      if (!shared.contexts.empty()) {
        *context = nullptr;
        return Explain(reason, NSDK_INTERNAL, "there is a context already");
      }
    }
    const NsdkStatus status = right.context_create(&options, context, reason);
    if (status != NSDK_OK) return status;
    const std::lock_guard lock(shared.lock);
    shared.contexts.insert(*context);
    if (options.device == NSDK_WITHOUT_DEVICE) shared.without_device.insert(*context);
    return status;
  };
  table.context_destroy = [](NsdkContext* context) {
    {
      const std::lock_guard lock(TheShared().lock);
      TheShared().contexts.erase(context);
      TheShared().without_device.erase(context);
    }
    right.context_destroy(context);
  };
  table.get_target = [](NsdkContext* context, NsdkTarget* target) {
    const NsdkStatus status = right.get_target(context, target);
    if (Fault("127_alignment_of_three") && target->struct_size >= sizeof *target) target->memory_alignment = 3;
    if (Fault("146_forgets_an_operator") && target->struct_size >= sizeof *target) target->ops &= ~(1ull << NSDK_ADD);
    return status;
  };
}

}  // namespace

void BreakLibrary(NsdkApi& table) {
  right = table;
  VersionFaults(table);
  DeviceFaults(table);
  ContextFaults(table);
  static std::atomic<uint64_t> tables = 0;
  if (Fault("100_another_table_each_time") && ++tables % 2 == 0) table.get_target = right.get_target;
  if (Fault("102_announces_without_function")) table.get_counters = nullptr;
  if (Fault("115_destroys_null")) {
    table.unload = [](NsdkProgram* program) {
      if (program == nullptr) abort();
      right.unload(program);
    };
  }
}

}  // namespace epiphyte::broken
