// Checks of the rules on loading: ownership of the blob, several graphs, several programs, groups.
#include <sys/mman.h>

#include <cstring>
#include <thread>

#include "rules.h"
#include "test_graph.h"

namespace epiphyte::nsdk_conformance {
namespace {

// Several graphs in one blob, with the outputs that each computes when it is loaded alone.
struct Loaded {
  explicit Loaded(Sdk& sdk, uint32_t graph_count = 1) : context(Begin(sdk)) {
    std::vector<Compiled> compiled;
    std::vector<const Compiled*> pointers;
    for (uint32_t i = 0; i < graph_count; ++i) {
      graphs.push_back(sdk.SmallGraph(context.get(), "g" + std::to_string(i), i));
      inputs.push_back(RandomInputs(graphs[i], i));
      compiled.push_back(sdk.Compile(context.get(), graphs[i]));
      blobs.push_back(sdk.WriteBlob(context.get(), {&compiled[i]}));
      const Program program = sdk.Load(context.get(), blobs[i]);
      expected.push_back(sdk.RunOnce(program.get(), 0, graphs[i], inputs[i]));
    }
    for (const Compiled& one : compiled) pointers.push_back(&one);
    blob = sdk.WriteBlob(context.get(), pointers);
  }
  static Context Begin(Sdk& sdk) {
    sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
    return sdk.MakeContext();
  }
  // Whether graph `graph` runs as graph `index` of the program, and computes the same as alone.
  bool Computes(Sdk& sdk, NsdkProgram* program, uint32_t graph = 0, uint32_t index = 0) const {
    try {
      return sdk.RunOnce(program, index, graphs[graph], inputs[graph]) == expected[graph];
    } catch (const NotReached&) {
      return false;  // the graph did run alone, so this is a failure
    }
  }

  Context context;
  std::vector<TestGraph> graphs;
  std::vector<std::vector<Bytes>> inputs, expected;
  std::vector<Bytes> blobs;  // blob of each graph
  Bytes blob;                // blob of all graphs
};

Program LoadInto(Sdk& sdk, const Loaded& loaded, uint32_t graph, NsdkGroup* scratch, NsdkGroup* weights) {
  return sdk.Load(loaded.context.get(), loaded.blobs[graph].data(), loaded.blobs[graph].size(), NSDK_BLOB_STAYS,
                  scratch, weights);
}

}  // namespace

void BlobIsCopied(Sdk& sdk) {
  const Loaded loaded(sdk);
  auto bytes = std::make_unique<Bytes>(loaded.blob);
  const Program program = sdk.Load(loaded.context.get(), bytes->data(), bytes->size());
  std::fill(bytes->begin(), bytes->end(), 0xEE);
  bytes.reset();
  Expect(loaded.Computes(sdk, program.get()), "a program computes other numbers when its blob was freed");
}

void BlobStaysAsItIs(Sdk& sdk) {
  const Loaded loaded(sdk);
  const size_t size = loaded.blob.size();
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Need(memory != MAP_FAILED, "no memory for a blob");
  std::memcpy(memory, loaded.blob.data(), size);
  mprotect(memory, size, PROT_READ);
  {
    const Program program = sdk.Load(loaded.context.get(), memory, size, NSDK_BLOB_STAYS);
    for (int i = 0; i < 3; ++i)
      Expect(loaded.Computes(sdk, program.get()), "a program computes other numbers from a blob that stays");
  }
  munmap(memory, size);
}

void BlobIsAnywhere(Sdk& sdk) {
  const Loaded loaded(sdk);
  std::vector<uint64_t> memory(loaded.blob.size() / 8 + 16);
  for (const size_t offset : {1u, 2u, 3u, 4u, 7u, 8u, 20u}) {
    uint8_t* bytes = reinterpret_cast<uint8_t*>(memory.data()) + offset;
    std::memcpy(bytes, loaded.blob.data(), loaded.blob.size());
    sdk.InfoOf(bytes, loaded.blob.size());
    for (const uint32_t flags : {0u, static_cast<uint32_t>(NSDK_BLOB_STAYS)}) {
      NsdkLoadOptions options = {};
      options.struct_size = sizeof options;
      options.flags = flags;
      NsdkProgram* made = nullptr;
      NsdkReason reason = EmptyReason();
      const NsdkStatus status =
          sdk.api().load(loaded.context.get(), bytes, loaded.blob.size(), &options, &made, &reason);
      Expect(status == NSDK_OK, "load from an address {} behind a multiple of 16 returned {}: {}", offset,
             NameOf(status), reason.text);
      const Program program(made, sdk.api().unload);
      Expect(loaded.Computes(sdk, made),
             "loaded from an address {} behind a multiple of 16, a program computes other numbers", offset);
    }
  }
}

void GraphsByIndex(Sdk& sdk) {
  const Loaded loaded(sdk, 3);
  const Program program = sdk.Load(loaded.context.get(), loaded.blob);
  const Info info = sdk.InfoOf(loaded.blob.data(), loaded.blob.size());
  Need(info->graph_count == 3, "a blob of 3 graphs has {}", info->graph_count);
  for (const uint32_t graph : {2u, 0u, 1u, 2u}) {
    uint32_t index = 0;
    const auto name = [&] {
      return reinterpret_cast<const NsdkBlobGraph*>(reinterpret_cast<const char*>(info->graphs) +
                                                    index * info->graphs->struct_size)
          ->name;
    };
    while (index < 2 && loaded.graphs[graph].name != name()) ++index;
    Expect(loaded.Computes(sdk, program.get(), graph, index),
           "graph {} of a blob of three computes other numbers than alone", graph);
  }
}

void LoadedTwice(Sdk& sdk) {
  const Loaded loaded(sdk);
  Program first = sdk.Load(loaded.context.get(), loaded.blob), second = sdk.Load(loaded.context.get(), loaded.blob);
  Expect(loaded.Computes(sdk, first.get()) && loaded.Computes(sdk, second.get()),
         "one of two programs of a blob computes other numbers");
  first.reset();
  Expect(loaded.Computes(sdk, second.get()),
         "the second of two programs computes other numbers when the first is unloaded");
}

void NoDeviceNoLoad(Sdk& sdk) {
  const Loaded loaded(sdk);
  const Context none = sdk.MakeContext(sdk.target().options, NSDK_WITHOUT_DEVICE);
  NsdkProgram* program = nullptr;
  const NsdkStatus status =
      sdk.api().load(none.get(), loaded.blob.data(), loaded.blob.size(), nullptr, &program, nullptr);
  if (status == NSDK_OK) sdk.api().unload(program);
  Expect(status == NSDK_NO_DEVICE, "load in a context for no device returned {}", NameOf(status));
}

void ReloadedBitsAreEqual(Sdk& sdk) {
  const Loaded loaded(sdk);
  for (int i = 0; i < 5; ++i) {
    const Context context = sdk.MakeContext();
    const Program program = sdk.Load(context.get(), loaded.blob);
    Expect(loaded.Computes(sdk, program.get()), "loaded in another context, a blob computes other numbers");
  }
}

void ScratchIsShared(Sdk& sdk) {
  sdk.Require(NSDK_CAN_GROUP, "NSDK_CAN_GROUP");
  const Loaded loaded(sdk, 3);
  const Group group = sdk.MakeGroup(loaded.context.get(), NSDK_SHARE_SCRATCH);
  std::vector<Program> programs;
  for (uint32_t i = 0; i < 3; ++i) programs.push_back(LoadInto(sdk, loaded, i, group.get(), nullptr));
  for (const uint32_t graph : {0u, 1u, 2u, 1u, 0u}) {
    Expect(loaded.Computes(sdk, programs[graph].get(), graph),
           "a program that shares scratch memory computes other numbers than alone");
  }
}

void ScratchIsSharedByThreads(Sdk& sdk) {
  sdk.Require(NSDK_CAN_GROUP, "NSDK_CAN_GROUP");
  const Loaded loaded(sdk, 3);
  const Group group = sdk.MakeGroup(loaded.context.get(), NSDK_SHARE_SCRATCH);
  std::vector<Program> programs;
  for (uint32_t i = 0; i < 3; ++i) programs.push_back(LoadInto(sdk, loaded, i, group.get(), nullptr));
  std::vector<std::string> wrong(3);
  std::vector<std::thread> threads;
  for (uint32_t graph = 0; graph < 3; ++graph) {
    threads.emplace_back([&, graph] {
      for (int i = 0; i < 40 && wrong[graph].empty(); ++i) {
        if (!loaded.Computes(sdk, programs[graph].get(), graph)) wrong[graph] = "it computes other numbers than alone";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& one : wrong)
    Expect(one.empty(), "one of three programs that share scratch memory and run on threads: {}", one);
}

void WeightsAreShared(Sdk& sdk) {
  sdk.Require(NSDK_CAN_GROUP, "NSDK_CAN_GROUP");
  const Loaded loaded(sdk, 2);
  const Group group = sdk.MakeGroup(loaded.context.get(), NSDK_SHARE_WEIGHTS);
  Program first = LoadInto(sdk, loaded, 0, nullptr, group.get()), same = LoadInto(sdk, loaded, 0, nullptr, group.get()),
          other = LoadInto(sdk, loaded, 1, nullptr, group.get());
  Expect(loaded.Computes(sdk, first.get(), 0) && loaded.Computes(sdk, same.get(), 0) &&
             loaded.Computes(sdk, other.get(), 1),
         "a program that shares weights computes other numbers than alone");
  first.reset();
  Expect(loaded.Computes(sdk, same.get(), 0) && loaded.Computes(sdk, other.get(), 1),
         "a program computes other numbers when one that it shared weights with is unloaded");
}

void GroupGoesFirst(Sdk& sdk) {
  sdk.Require(NSDK_CAN_GROUP, "NSDK_CAN_GROUP");
  const Loaded loaded(sdk, 2);
  for (const uint32_t kind : {NSDK_SHARE_SCRATCH, NSDK_SHARE_WEIGHTS}) {
    Group group = sdk.MakeGroup(loaded.context.get(), kind);
    const bool scratch = kind == NSDK_SHARE_SCRATCH;
    const Program program = LoadInto(sdk, loaded, 0, scratch ? group.get() : nullptr, scratch ? nullptr : group.get());
    group.reset();
    Expect(loaded.Computes(sdk, program.get()), "a program computes other numbers when its group is destroyed");
  }
}

void AnyPriority(Sdk& sdk) {
  const Loaded loaded(sdk);
  NsdkLoadOptions options = {};
  options.struct_size = sizeof options;
  for (const int32_t priority : {INT32_MIN, -1, 1, INT32_MAX}) {
    options.priority = priority;
    NsdkProgram* made = nullptr;
    NsdkReason reason = EmptyReason();
    const NsdkStatus status =
        sdk.api().load(loaded.context.get(), loaded.blob.data(), loaded.blob.size(), &options, &made, &reason);
    const Program program(made, sdk.api().unload);
    Expect(status == NSDK_OK, "load with priority {} returned {}: {}", priority, NameOf(status), reason.text);
    Expect(status != NSDK_OK || loaded.Computes(sdk, program.get()),
           "a program with priority {} computes other numbers", priority);
  }
}

}  // namespace epiphyte::nsdk_conformance
