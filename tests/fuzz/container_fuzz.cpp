// Context containers of the kit: any bytes are either a valid container or refused, and so are the graphs in it.
// Digests are made to match, so that the code behind the digest checks is reached. A graph that was read can be written
// and read again.
#include <cstdlib>

#include "epiphyte/kit/container/graph.hpp"
#include "epiphyte/kit/container/key.hpp"
#include "epiphyte/kit/graph/text.hpp"
#include "tests/framework/guarded_memory.h"
#include "tests/framework/sealed_container.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

namespace kit = epiphyte::kit;
namespace test = epiphyte::test;

constexpr kit::ContainerFormat kFormat = {"FUZZ", 1, "the fuzzed context"};

std::string BytesOf(const kit::ContextContainerBuilder& builder) {
  std::string bytes;
  builder.Write([&](const void* data, uint64_t size) { bytes.append(static_cast<const char*>(data), size); });
  return bytes;
}

uint64_t Touch(const void* data, uint64_t size) { return kit::Digest(data, size); }

// ir::Check guarantees that all bytes of tensors exist, so this reads all of them.
void TouchGraph(const kit::StoredGraph& stored) {
  uint64_t sum = 0;
  for (const kit::ir::Constant& constant : stored.graph.constants)
    if (constant.tensor.data != nullptr) sum += Touch(constant.tensor.data, constant.tensor.Bytes());
  for (const kit::ir::Node& node : stored.graph.nodes)
    for (const kit::ir::Attribute& attribute : node.attributes)
      for (const kit::ir::Tensor& tensor : attribute.tensors)
        if (tensor.data != nullptr) sum += Touch(tensor.data, tensor.Bytes());
  for (const kit::PackedData& packed : stored.packed) sum += Touch(packed.data, packed.bytes);
  if (sum == 1 && kit::ir::ToText(stored.graph).empty()) std::abort();
}

void TryGraph(const kit::ContextContainer& container, std::string_view name) {
  kit::StoredGraph stored;
  try {
    stored = kit::ReadGraph(container, name);
  } catch (const kit::Error&) {
    return;
  }
  TouchGraph(stored);
  kit::ContextContainerBuilder builder(kFormat);
  kit::AddGraph(builder, stored.graph, stored.packed);
  const std::string bytes = BytesOf(builder);
  const kit::ContextContainer again(std::as_bytes(std::span(bytes)), kFormat, kit::ContainerDigests::kAll);
  TouchGraph(kit::ReadGraph(again, name));
}

constexpr std::string_view kGraphs[] = {R"(graph "first"
in x: float[1,3]
const w: float[3,2] = [1, 2, 3, 4, 5, 6]
const t: string[2] = ["a", "bc"]
const b: bool[2] = [1, 0]
y = MatMul@13(x, w) : float[1,2]
z = epiphyte.kit::Tail<code=[6,0,-1], alpha=0.5, names=["p","q"]>(y, t, b) : float[1,2]
out z
)",
                                        R"(graph "second"
in a: int64[-1]
n = Neg@13(a) : int64[-1]
out n
)"};

std::string Seed(size_t graphs) {
  kit::ContextContainerBuilder builder(kFormat, "driver=2.1;chip=N4");
  static const std::string weights(200, 'w');
  const kit::PackedData packed[] = {{0, "w", "blocked", weights.data(), weights.size(), nullptr}};
  for (size_t i = 0; i < graphs; ++i) kit::AddGraph(builder, kit::ir::FromText(kGraphs[i]), packed);
  builder.Add("notes", std::string("text"));
  return BytesOf(builder);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes = test::Sealed(std::string(reinterpret_cast<const char*>(data), size));
  const std::shared_ptr<void> payload = test::GuardedMemory(size);
  if (size != 0) std::memcpy(payload.get(), bytes.data(), size);
  try {
    const kit::ContextContainer container({static_cast<const std::byte*>(payload.get()), size}, kFormat,
                                          kit::ContainerDigests::kAll);
    for (uint32_t i = 0; i < container.section_count(); ++i)
      Touch(container.section(i).data(), container.section(i).size());
    kit::CompatibilityKey().Require("driver", "2.1", "driver {}").Compare(container.key());
    for (const std::string_view name : kit::GraphNames(container)) TryGraph(container, name);
  } catch (const kit::Error&) {
  } catch (const std::bad_alloc&) {
  }
  return 0;
}

std::vector<std::string> SeedInputs() { return {Seed(0), Seed(1), Seed(2)}; }
