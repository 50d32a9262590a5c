#include "tests/fuzz/plan/plan_file.h"

#include <span>

#include "plugins/cpu/exec/context.h"

namespace epiphyte::fuzz {

std::optional<PlanFile> OpenPlanFile(std::string_view bytes) {
  PlanFile file;
  file.bytes = std::make_shared<const std::string>(bytes);
  try {
    const kit::ContextContainer container(std::as_bytes(std::span(*file.bytes)), cpu::kContextFormat);
    file.key = container.key();
    for (const std::string_view name : kit::GraphNames(container))
      file.plans.push_back(kit::ReadGraph(container, name, kit::GraphCheck::kLater));
  } catch (const kit::Error&) {
    return {};
  }
  return file;
}

std::string BytesOf(const PlanFile& file) {
  kit::ContextContainerBuilder builder(cpu::kContextFormat, file.key);
  for (const kit::StoredGraph& plan : file.plans) kit::AddGraph(builder, plan.graph, plan.packed);
  std::string bytes;
  builder.Write([&](const void* data, uint64_t size) { bytes.append(static_cast<const char*>(data), size); });
  return bytes;
}

}  // namespace epiphyte::fuzz
