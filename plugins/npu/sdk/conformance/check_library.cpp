// Checks of the library, its table, and the facts that it gives about itself and its devices.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <set>
#include <thread>

#include "rules.h"
#include "test_graph.h"

namespace epiphyte::nsdk_conformance {
namespace {

bool SameFunctions(const NsdkApi& a, const NsdkApi& b) {
  constexpr size_t kFirst = offsetof(NsdkApi, get_version_info);
  return std::memcmp(reinterpret_cast<const char*>(&a) + kFirst, reinterpret_cast<const char*>(&b) + kFirst,
                     sizeof a - kFirst) == 0;
}

NsdkApi Fetch(Sdk& sdk) {
  NsdkApi api = {};
  api.struct_size = sizeof api;
  sdk.get_api()(NSDK_VERSION, &api);
  return api;
}

// Calls `write` with structs of several sizes, and checks that the bytes behind struct_size stay as they are.
template <typename T>
void ExpectWithin(const char* what, const std::function<void(T*)>& write) {
  for (const size_t known :
       {sizeof(uint32_t), size_t{8}, sizeof(T) / 2 / 8 * 8, sizeof(T) - 8, sizeof(T), sizeof(T) + 24}) {
    alignas(T) unsigned char bytes[sizeof(T) + 64];
    std::memset(bytes, 0xA5, sizeof bytes);
    const auto size = static_cast<uint32_t>(known);
    std::memcpy(bytes, &size, sizeof size);
    write(reinterpret_cast<T*>(bytes));
    for (size_t i = known; i < sizeof bytes; ++i) {
      Expect(bytes[i] == 0xA5, "{} with struct_size {} was written at byte {}", what, known, i);
    }
  }
}

// Uses all main functions of an SDK once.
void UseAll(Sdk& sdk) {
  Context context = sdk.MakeContext();
  const TestGraph graph = sdk.SmallGraph(context.get());
  const Bytes blob = sdk.BlobOf(context.get(), graph);
  sdk.InfoOf(blob.data(), blob.size());
  uint32_t verdict = 0;
  sdk.api().check_blob(context.get(), blob.data(), blob.size(), &verdict, nullptr);
  sdk.api().check_blob(context.get(), blob.data(), blob.size() / 2, &verdict, nullptr);
  const Program program = sdk.Load(context.get(), blob);
  sdk.RunOnce(program.get(), 0, graph, RandomInputs(graph, 1));
}

}  // namespace

void LibraryLoads(Sdk& sdk) {
  void* library = dlopen(sdk.target().library.c_str(), RTLD_NOW | RTLD_LOCAL);
  Expect(library != nullptr, "{}", library == nullptr ? dlerror() : "");
  Expect(dlsym(library, "nsdk_get_api") != nullptr, "there is no symbol nsdk_get_api");
}

void GetApiAgain(Sdk& sdk) {
  const NsdkApi first = Fetch(sdk);
  bool same[4] = {};
  std::vector<std::thread> threads;
  for (bool& one : same) {
    threads.emplace_back([&] {
      one = true;
      for (int i = 0; i < 100; ++i) one = one && SameFunctions(first, Fetch(sdk));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const bool one : same) Expect(one, "two tables differ");
}

void NothingBeyondStructSize(Sdk& sdk) {
  ExpectWithin<NsdkApi>("the table", [&](NsdkApi* table) { sdk.get_api()(NSDK_VERSION, table); });
  const NsdkApi& api = sdk.api();
  ExpectWithin<NsdkVersionInfo>("NsdkVersionInfo", [&](NsdkVersionInfo* info) { api.get_version_info(info); });
  if (!sdk.Devices().empty()) {
    ExpectWithin<NsdkDevice>("NsdkDevice", [&](NsdkDevice* device) {
      uint32_t count = 1;
      api.list_devices(&count, device);
    });
  }
  const Context context = sdk.MakeContext(sdk.target().options, NSDK_WITHOUT_DEVICE);
  ExpectWithin<NsdkTarget>("NsdkTarget", [&](NsdkTarget* target) { api.get_target(context.get(), target); });
  ExpectWithin<NsdkReason>("NsdkReason", [&](NsdkReason* reason) {
    const NsdkBlobInfo* info = nullptr;
    api.blob_info("no blob", 7, &info, reason);
  });
}

void FunctionsAreSet(Sdk& sdk) {
  NsdkApi api = {};
  api.struct_size = sizeof api;
  Need(sdk.get_api()(NSDK_VERSION, &api) == NSDK_OK, "nsdk_get_api fails");
  const std::string missing = MissingFunction(api);
  Expect(missing.empty(), "{}", missing);
}

void OtherMajorVersionIsRefused(Sdk& sdk) {
  NsdkApi api = {};
  api.struct_size = sizeof api;
  for (const uint32_t major : {0u, 2u, 0xFFFFu}) {
    const NsdkStatus status = sdk.get_api()(major << 16, &api);
    Expect(status == NSDK_INCOMPATIBLE, "major version {}: {}", major, NameOf(status));
  }
  const NsdkStatus status = sdk.get_api()(NSDK_VERSION + 7, &api);
  Expect(status == NSDK_OK, "a later minor version: {}", NameOf(status));
}

void PrintsNothing(Sdk& sdk) {
  UseAll(sdk);  // a first run reports missing requirements as usual
  const int file = memfd_create("printed", 0);
  const int out = dup(1), error = dup(2);
  dup2(file, 1);
  dup2(file, 2);
  std::string broken;
  try {
    UseAll(sdk);
    const NsdkBlobInfo* info = nullptr;
    sdk.api().blob_info("no blob", 7, &info, nullptr);
    NsdkContext* context = nullptr;
    sdk.CreateContext({{"no such option", ""}}, NSDK_WITHOUT_DEVICE, &context, nullptr);
  } catch (...) {
    broken = "not reached";
  }
  fflush(stdout);
  dup2(out, 1);
  dup2(error, 2);
  char text[100] = {};
  const ssize_t size = pread(file, text, sizeof text - 1, 0);
  Expect(size <= 0, "printed: {}", text);
  Need(broken.empty(), "the steps in which nothing is to be printed fail");
}

void VersionInfoStays(Sdk& sdk) {
  NsdkVersionInfo infos[2] = {};
  for (NsdkVersionInfo& info : infos) {
    info.struct_size = sizeof info;
    const NsdkStatus status = sdk.api().get_version_info(&info);
    Expect(status == NSDK_OK, "get_version_info returned {}", NameOf(status));
    for (const char* text : {info.vendor, info.name, info.version, info.build_id}) {
      Expect(text != nullptr, "a text is null");
    }
    Expect(*info.vendor != '\0' && *info.name != '\0', "vendor or name is empty");
    int major, minor, patch;
    Expect(sscanf(info.version, "%d.%d.%d", &major, &minor, &patch) == 3,
           "the version is '{}', expected major.minor.patch", info.version);
    Expect(info.nsdk_version >> 16 == NSDK_VERSION_MAJOR, "nsdk_version is {:#x}", info.nsdk_version);
    Expect(info.reserved == 0, "reserved is {}", info.reserved);
  }
  Expect(std::string(infos[0].version) == infos[1].version && std::string(infos[0].build_id) == infos[1].build_id &&
             infos[0].capabilities == infos[1].capabilities,
         "two calls differ");
}

void BlobVersionsAreARange(Sdk& sdk) {
  NsdkVersionInfo info = {};
  info.struct_size = sizeof info;
  Need(sdk.api().get_version_info(&info) == NSDK_OK, "get_version_info fails");
  Expect(info.blob_version_min <= info.blob_version_max, "versions from {} to {} can be loaded", info.blob_version_min,
         info.blob_version_max);
  if ((info.capabilities & NSDK_CAN_COMPILE) == 0) return;
  Expect(info.blob_version_min <= info.blob_version_written && info.blob_version_written <= info.blob_version_max,
         "version {} is written, {} to {} can be loaded", info.blob_version_written, info.blob_version_min,
         info.blob_version_max);
}

void ListDevicesCounts(Sdk& sdk) {
  uint32_t there = 0;
  NsdkStatus status = sdk.api().list_devices(&there, nullptr);
  Expect(status == NSDK_OK, "list_devices without room returned {}", NameOf(status));
  Expect(there < 4096, "there are {} devices", there);
  std::vector<NsdkDevice> devices(there + 2);
  for (uint32_t room = 0; room <= there + 1; ++room) {
    for (NsdkDevice& device : devices) device = {.struct_size = sizeof(NsdkDevice), .id = 0xA5A5A5A5};
    uint32_t count = room;
    status = sdk.api().list_devices(&count, devices.data());
    Expect(status == NSDK_OK && count == there, "with room for {} of {} devices: {}, {} devices", room, there,
           NameOf(status), count);
    for (uint32_t i = std::min(room, there); i < devices.size(); ++i) {
      Expect(devices[i].id == 0xA5A5A5A5 && devices[i].name == nullptr, "with room for {} devices number {} was filled",
             room, i);
    }
  }
}

void DevicesAreWhole(Sdk& sdk) {
  std::set<uint32_t> ids;
  for (const NsdkDevice& device : sdk.Devices()) {
    Expect(device.id != NSDK_WITHOUT_DEVICE && ids.insert(device.id).second, "the id {} isn't a device's own",
           device.id);
    Expect(device.name != nullptr && *device.name != '\0', "device {} has no name", device.id);
    Expect(device.architecture != nullptr && *device.architecture != '\0', "device {} has no architecture", device.id);
  }
}

void UnknownOptionIsRefused(Sdk& sdk) {
  NsdkContext* context = nullptr;
  NsdkReason reason = EmptyReason();
  std::vector<KeyValue> options = sdk.target().options;
  options.emplace_back("no_such_option", "1");
  const NsdkStatus status = sdk.CreateContext(options, NSDK_WITHOUT_DEVICE, &context, &reason);
  if (status == NSDK_OK) sdk.api().context_destroy(context);
  Expect(status == NSDK_INVALID_ARGUMENT, "option no_such_option=1: {}", NameOf(status));
  Expect(std::string(reason.text).find("no_such_option") != std::string::npos,
         "the reason '{}' doesn't name the option", reason.text);
}

void BadValueIsRefused(Sdk& sdk) {
  if (sdk.target().options.empty()) throw NotApplicable{"no option is known here; name one with --option KEY=VALUE"};
  for (const auto& [key, value] : sdk.target().options) {
    NsdkContext* context = nullptr;
    NsdkReason reason = EmptyReason();
    const NsdkStatus status = sdk.CreateContext({{key, "\x01 no value"}}, NSDK_WITHOUT_DEVICE, &context, &reason);
    if (status == NSDK_OK) sdk.api().context_destroy(context);
    Expect(status == NSDK_INVALID_ARGUMENT, "option {} with a value of nonsense: {}", key, NameOf(status));
  }
}

void UnknownDeviceIsRefused(Sdk& sdk) {
  uint32_t id = 123456;
  for (const NsdkDevice& device : sdk.Devices()) id = std::max(id, device.id + 1);
  NsdkContext* context = nullptr;
  const NsdkStatus status = sdk.CreateContext(sdk.target().options, id, &context, nullptr);
  if (status == NSDK_OK) sdk.api().context_destroy(context);
  Expect(status == NSDK_NO_DEVICE, "device {}: {}", id, NameOf(status));
}

void TargetIsWhole(Sdk& sdk) {
  const Context context = sdk.MakeContext(sdk.target().options, NSDK_WITHOUT_DEVICE);
  NsdkTarget target = {};
  target.struct_size = sizeof target;
  const NsdkStatus status = sdk.api().get_target(context.get(), &target);
  Expect(status == NSDK_OK, "get_target returned {}", NameOf(status));
  Expect(target.architecture != nullptr && *target.architecture != '\0', "there is no architecture");
  Expect(target.memory_alignment != 0 && (target.memory_alignment & (target.memory_alignment - 1)) == 0,
         "memory_alignment is {}, expected a power of two", target.memory_alignment);
  Expect(target.ops != 0 && target.types != 0, "there are no operators or no types");
  Expect(target.max_rank >= 1 && target.max_dimension >= 1 && target.macs_per_cycle >= 1, "a limit is 0");
  Expect(target.clock_hz >= 0, "clock_hz is {}", target.clock_hz);
}

void TargetIsTheDevices(Sdk& sdk) {
  for (const NsdkDevice& device : sdk.Devices()) {
    const Context context = sdk.MakeContext({}, device.id);
    const NsdkTarget target = sdk.TargetOf(context.get());
    Expect(std::string(target.architecture) == device.architecture, "the device is a '{}', its context's target '{}'",
           device.architecture, target.architecture);
  }
}

void ContextsSideBySide(Sdk& sdk) {
  const Context first = sdk.MakeContext();
  const TestGraph graph = sdk.SmallGraph(first.get());
  const Bytes blob = sdk.BlobOf(first.get(), graph);
  Context second;
  {
    NsdkContext* made = nullptr;
    const NsdkStatus status = sdk.CreateContext(sdk.target().options, sdk.FirstDevice(), &made, nullptr);
    Expect(status == NSDK_OK, "a second context: {}", NameOf(status));
    second = {made, sdk.api().context_destroy};
  }
  const Program one = sdk.Load(first.get(), blob), other = sdk.Load(second.get(), blob);
  const std::vector<Bytes> inputs = RandomInputs(graph, 5);
  const auto expected = sdk.RunOnce(one.get(), 0, graph, inputs);
  Expect(sdk.RunOnce(other.get(), 0, graph, inputs) == expected, "two contexts compute different numbers");
}

}  // namespace epiphyte::nsdk_conformance
