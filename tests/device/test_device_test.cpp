// The test device through its function table: the behaviour on which the tests of devices rely.
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <future>

#include "tests/device/standalone_device.h"

namespace epiphyte::test::standalone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using TestDevicePlugin = StandaloneDeviceTest;

const EpPluginDescriptor* Query(const char* name, std::vector<EpKeyValue> parameters = {}) {
  void* library = dlopen(EPIPHYTE_TEST_DEVICE, RTLD_NOW | RTLD_LOCAL);
  EpPluginEnvironment environment = {};
  environment.struct_size = sizeof environment;
  environment.name = name;
  environment.parameters = parameters.data();
  environment.parameter_count = static_cast<uint32_t>(parameters.size());
  return reinterpret_cast<EpPluginQueryFunction>(dlsym(library, EP_PLUGIN_QUERY_SYMBOL))(&kStandaloneHost,
                                                                                         &environment);
}

TEST_F(TestDevicePlugin, ServesTwoManifestsAndNoOther) {
  EXPECT_STREQ(Query("test_device")->name, "test_device");
  EXPECT_STREQ(Query("test_device_b")->name, "test_device_b");
  EXPECT_EQ(Query("another"), nullptr);
}

TEST_F(TestDevicePlugin, HasKernelsWithStatesOrWithoutAsTheManifestSays) {
  EXPECT_NE(Query("test_device")->provider->CreateState, nullptr);
  EXPECT_EQ(Query("test_device", {{"states", "0"}})->provider->CreateState, nullptr);
  EXPECT_EQ(Query("test_device", {{"states", "0"}})->provider->ReleaseState, nullptr);
}

TEST_F(TestDevicePlugin, HasAnArenaAndMemoryThatCanBeMapped) {
  const EpMemoryInfo* memories[4] = {};
  uint32_t count = 0;
  EXPECT_OK(api.GetMemories(plugin->get(), 1, memories, 4, &count));
  ASSERT_EQ(count, 2u);
  EXPECT_STREQ(memories[0]->name, "arena");
  EXPECT_EQ(memories[0]->flags, EP_MEMORY_LOCAL);
  EXPECT_STREQ(memories[1]->name, "shared");
  EXPECT_EQ(memories[1]->flags, EP_MEMORY_MAPPABLE);
}

TEST_F(TestDevicePlugin, GivesHandlesThatAreNoAddresses) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  for (const uint32_t memory : {0u, 1u}) {
    EpBuffer* buffer = plugin->Allocate(0, memory, 4096);
    EXPECT_EQ(reinterpret_cast<uint64_t>(buffer) % 2, 1u);
    EXPECT_EQ(write(ends[1], buffer, 1), -1);
    EXPECT_EQ(errno, EFAULT);
    plugin->Free(buffer);
  }
  close(ends[0]);
  close(ends[1]);
}

TEST_F(TestDevicePlugin, CopiesFromTheHostThroughDevicesAndBack) {
  EpBuffer* arena = plugin->Allocate(0, 0, 512);
  EpBuffer* far = plugin->Allocate(1, 0, 16);
  EpBuffer* shared = plugin->Allocate(0, 1, 16);
  EpStream* stream = plugin->Stream(0);
  EXPECT_EQ(plugin->Copy(stream, Host(one_to_four.data()), In(arena, 256), 16), EP_STATUS_OK);
  EXPECT_EQ(plugin->Copy(stream, In(arena, 256), In(far), 16), EP_STATUS_OK);
  EXPECT_EQ(plugin->Copy(stream, In(far), In(shared), 16), EP_STATUS_OK);
  EXPECT_EQ(plugin->Finish(stream), EP_STATUS_OK);
  void* mapped = nullptr;
  EXPECT_OK(api.Map(plugin->get(), shared, &mapped));
  EXPECT_EQ(std::memcmp(mapped, one_to_four.data(), 16), 0);
  void* again = nullptr;
  EXPECT_OK(api.Map(plugin->get(), shared, &again));
  EXPECT_EQ(again, mapped);
  EXPECT_EQ(control.copies, 3u);
  EXPECT_EQ(control.copied_bytes, 48u);
  api.DestroyStream(stream);
  for (EpBuffer* buffer : {arena, far, shared}) plugin->Free(buffer);
}

TEST_F(TestDevicePlugin, ReachesAPointWhenWhatCameBeforeIsDone) {
  EpBuffer* buffer = plugin->Allocate(0, 0, 16);
  EpStream* stream = plugin->Stream(0);
  const uint64_t empty = plugin->Signal(stream);
  EXPECT_GE(empty, 1u);
  EXPECT_OK(api.Synchronize(stream, empty, UINT64_MAX));
  control.hold[0] = 1;
  EXPECT_EQ(plugin->Copy(stream, Host(one_to_four.data()), In(buffer), 16), EP_STATUS_OK);
  const uint64_t behind = plugin->Signal(stream);
  EXPECT_GT(behind, empty);
  EXPECT_EQ(CodeOf(api.Synchronize(stream, behind, 1'000'000)), EP_STATUS_TIMEOUT);
  EXPECT_OK(api.Synchronize(stream, empty, 0));
  control.hold[0] = 0;
  EXPECT_OK(api.Synchronize(stream, behind, UINT64_MAX));
  api.DestroyStream(stream);
  EXPECT_EQ(plugin->Read(buffer, 4), one_to_four);
  plugin->Free(buffer);
}

TEST_F(TestDevicePlugin, AStreamThatWaitsLetsTheOthersOfItsDeviceGoOn) {
  EpBuffer* buffers[] = {plugin->Allocate(0, 0, 16), plugin->Allocate(0, 0, 16), plugin->Allocate(1, 0, 16)};
  EpStream* waits = plugin->Stream(0);
  EpStream* free = plugin->Stream(0);
  EpStream* other = plugin->Stream(1);
  control.hold[1] = 1;
  EXPECT_EQ(plugin->Copy(other, Host(one_to_four.data()), In(buffers[2]), 16), EP_STATUS_OK);
  EXPECT_OK(api.Wait(waits, other, plugin->Signal(other)));
  EXPECT_EQ(plugin->Copy(waits, In(buffers[2]), In(buffers[0]), 16), EP_STATUS_OK);
  const uint64_t later = plugin->Signal(waits);
  EXPECT_EQ(plugin->Copy(free, Host(one_to_four.data()), In(buffers[1]), 16), EP_STATUS_OK);
  EXPECT_EQ(plugin->Finish(free), EP_STATUS_OK);
  EXPECT_EQ(CodeOf(api.Synchronize(waits, later, 0)), EP_STATUS_TIMEOUT);
  control.hold[1] = 0;
  EXPECT_OK(api.Synchronize(waits, later, UINT64_MAX));
  for (EpStream* stream : {waits, free, other}) api.DestroyStream(stream);
  EXPECT_EQ(plugin->Read(buffers[0], 4), one_to_four);
  for (EpBuffer* buffer : buffers) plugin->Free(buffer);
}

TEST_F(TestDevicePlugin, FailureEndsItsStreamAndTheStreamsThatWaitForIt) {
  EpBuffer* buffer = plugin->Allocate(0, 1, 16);
  void* mapped = nullptr;
  EXPECT_OK(api.Map(plugin->get(), buffer, &mapped));
  std::memset(mapped, 7, 16);
  EpStream* fails = plugin->Stream(0);
  EpStream* waits = plugin->Stream(1);
  control.hold[0] = 1;
  control.fail_in[0] = 1;
  std::vector<int> there(4);
  EXPECT_EQ(plugin->Copy(fails, In(buffer), Host(there.data()), 16), EP_STATUS_OK);
  EXPECT_EQ(plugin->Copy(fails, Host(one_to_four.data()), In(buffer), 16), EP_STATUS_OK);
  EXPECT_EQ(plugin->Copy(fails, Host(one_to_four.data()), In(buffer), 16), EP_STATUS_OK);
  const uint64_t point = plugin->Signal(fails);
  EXPECT_OK(api.Wait(waits, fails, point));
  const uint64_t behind = plugin->Signal(waits);
  control.hold[0] = 0;
  EXPECT_EQ(CodeOf(api.Synchronize(fails, point, UINT64_MAX)), EP_STATUS_EP_FAIL);
  EXPECT_EQ(CodeOf(api.Synchronize(waits, behind, UINT64_MAX)), EP_STATUS_EP_FAIL);
  EXPECT_EQ(plugin->Copy(fails, Host(one_to_four.data()), In(buffer), 16), EP_STATUS_EP_FAIL);
  EXPECT_EQ(plugin->Finish(fails), EP_STATUS_EP_FAIL);
  EXPECT_EQ(there[0], 0x07070707);
  EXPECT_EQ(*static_cast<int*>(mapped), 0x07070707);
  api.DestroyStream(fails);
  api.DestroyStream(waits);
  EpStream* next = plugin->Stream(0);
  EXPECT_EQ(plugin->Finish(next), EP_STATUS_OK);
  api.DestroyStream(next);
  plugin->Free(buffer);
}

TEST_F(TestDevicePlugin, ALostDeviceComesBackWithANewStreamButNotItsBuffers) {
  EpBuffer* buffer = plugin->Allocate(0, 0, 16);
  EpStream* streams[] = {plugin->Stream(0), plugin->Stream(0)};
  control.lose_in[0] = 0;
  control.return_on_new_stream = 0;
  EXPECT_EQ(plugin->Copy(streams[0], Host(one_to_four.data()), In(buffer), 16), EP_STATUS_OK);
  EXPECT_EQ(plugin->Finish(streams[0]), EP_STATUS_DEVICE_RESET);
  EXPECT_EQ(plugin->Finish(streams[1]), EP_STATUS_DEVICE_RESET);
  EpBuffer* none = nullptr;
  EXPECT_EQ(CodeOf(api.Allocate(plugin->get(), 0, 0, 16, &none)), EP_STATUS_DEVICE_RESET);
  EpStream* no_stream = nullptr;
  EXPECT_EQ(CodeOf(api.CreateStream(plugin->get(), 0, &no_stream)), EP_STATUS_DEVICE_RESET);
  control.return_on_new_stream = 1;
  EpStream* stream = plugin->Stream(0);
  EpBuffer* fresh = plugin->Allocate(0, 0, 16);
  EXPECT_EQ(plugin->Copy(stream, Host(one_to_four.data()), In(fresh), 16), EP_STATUS_OK);
  EXPECT_EQ(plugin->Finish(stream), EP_STATUS_OK);
  EXPECT_EQ(plugin->Finish(streams[1]), EP_STATUS_DEVICE_RESET);
  EXPECT_EQ(plugin->Copy(stream, Host(one_to_four.data()), In(buffer), 16), EP_STATUS_DEVICE_RESET);
  EXPECT_THAT(NewComplaint(), HasSubstr("before the loss"));
  for (EpStream* each : {streams[0], streams[1], stream}) api.DestroyStream(each);
  plugin->Free(buffer);
  plugin->Free(fresh);
}

TEST_F(TestDevicePlugin, SharesMemoryWithAnotherPluginThroughADescriptor) {
  Plugin other("test_device_b");
  EpBuffer* mine = plugin->Allocate(0, 0, 1024);
  EpExternalMemory external = {};
  external.struct_size = sizeof external;
  EXPECT_OK(api.Export(plugin->get(), mine, EP_HANDLE_OPAQUE_FD, &external));
  EXPECT_EQ(external.size, 1024u);
  EpBuffer* theirs = nullptr;
  EXPECT_OK(other.api->Import(other.get(), 1, 0, &external, &theirs));
  close(static_cast<int>(external.handle));
  EpStream* stream = other.Stream(1);
  EXPECT_EQ(other.Copy(stream, Host(one_to_four.data()), In(theirs), 16), EP_STATUS_OK);
  EXPECT_EQ(other.Finish(stream), EP_STATUS_OK);
  other.api->DestroyStream(stream);
  EXPECT_EQ(plugin->Read(mine, 4), one_to_four);
  EXPECT_EQ(control.live_bytes, before[1] + 1024) << "there is one memory";
  plugin->Free(mine);
  other.Free(theirs);
}

TEST_F(TestDevicePlugin, WorksInTheHostsMemoryThatItImports) {
  EpExternalMemory external = {sizeof external, EP_HANDLE_HOST_POINTER, one_to_four.data(), 0, 0, 16};
  EpBuffer* buffer = nullptr;
  EXPECT_OK(api.Import(plugin->get(), 0, 1, &external, &buffer));
  EXPECT_EQ(plugin->Read(buffer, 4), one_to_four);
  plugin->Free(buffer);
  EXPECT_EQ(CodeOf(api.Import(plugin->get(), 0, 0, &external, &buffer)), EP_STATUS_INVALID_ARGUMENT);
  external.type = EP_HANDLE_DMA_BUF;
  EXPECT_EQ(CodeOf(api.Import(plugin->get(), 0, 1, &external, &buffer)), EP_STATUS_INVALID_ARGUMENT);
}

TEST_F(TestDevicePlugin, RefusesDescriptorsThatAreTooShortOrNone) {
  EpBuffer* buffer = nullptr;
  EpBuffer* mine = plugin->Allocate(0, 0, 4096);
  EpExternalMemory external = {};
  external.struct_size = sizeof external;
  EXPECT_OK(api.Export(plugin->get(), mine, EP_HANDLE_OPAQUE_FD, &external));
  EpExternalMemory longer = external;
  longer.size = 1 << 20;
  EXPECT_EQ(CodeOf(api.Import(plugin->get(), 0, 0, &longer, &buffer)), EP_STATUS_INVALID_ARGUMENT);
  longer.offset = UINT64_MAX;
  EXPECT_EQ(CodeOf(api.Import(plugin->get(), 0, 0, &longer, &buffer)), EP_STATUS_INVALID_ARGUMENT);
  close(static_cast<int>(external.handle));
  external.handle = -1;
  EXPECT_EQ(CodeOf(api.Import(plugin->get(), 0, 0, &external, &buffer)), EP_STATUS_INVALID_ARGUMENT);
  plugin->Free(mine);
}

TEST_F(TestDevicePlugin, HasAsMuchMemoryAsTheTestAllows) {
  control.capacity[0] = 1000;
  EpBuffer* buffer = plugin->Allocate(0, 0, 600);
  EpBuffer* none = nullptr;
  EXPECT_EQ(CodeOf(api.Allocate(plugin->get(), 0, 0, 600, &none)), EP_STATUS_OUT_OF_MEMORY);
  EpBuffer* elsewhere = plugin->Allocate(1, 0, 600);
  EpMemoryUse use = {};
  use.struct_size = sizeof use;
  EXPECT_OK(api.GetMemoryUse(plugin->get(), 0, 0, &use));
  EXPECT_EQ(use.used_bytes, 600u);
  EXPECT_EQ(use.total_bytes, 1000u);
  plugin->Free(buffer);
  plugin->Free(elsewhere);
  plugin->Free(plugin->Allocate(0, 0, 1000));
}

// --- listeners

struct Heard {
  std::promise<EpStatusCode> code;
  static void EP_CALL Call(void* user, EpStatus* status) { static_cast<Heard*>(user)->code.set_value(CodeOf(status)); }
};

TEST_F(TestDevicePlugin, CallsAListenerOnceWhenAPointIsReachedOrLost) {
  EpBuffer* buffer = plugin->Allocate(0, 0, 16);
  EpStream* stream = plugin->Stream(0);
  const uint64_t reached = plugin->Signal(stream);
  EXPECT_OK(api.Synchronize(stream, reached, UINT64_MAX));
  Heard at_once, later, failed;
  EXPECT_OK(api.OnReached(stream, reached, Heard::Call, &at_once));
  EXPECT_EQ(at_once.code.get_future().get(), EP_STATUS_OK);

  control.hold[0] = 1;
  EXPECT_EQ(plugin->Copy(stream, Host(one_to_four.data()), In(buffer), 16), EP_STATUS_OK);
  EXPECT_OK(api.OnReached(stream, plugin->Signal(stream), Heard::Call, &later));
  std::future<EpStatusCode> is_later = later.code.get_future();
  EXPECT_EQ(is_later.wait_for(std::chrono::milliseconds(1)), std::future_status::timeout);
  control.hold[0] = 0;
  EXPECT_EQ(is_later.get(), EP_STATUS_OK);

  control.fail_in[0] = 0;
  control.hold[0] = 1;
  EXPECT_EQ(plugin->Copy(stream, Host(one_to_four.data()), In(buffer), 16), EP_STATUS_OK);
  EXPECT_OK(api.OnReached(stream, plugin->Signal(stream), Heard::Call, &failed));
  control.hold[0] = 0;
  EXPECT_EQ(failed.code.get_future().get(), EP_STATUS_EP_FAIL);
  api.DestroyStream(stream);
  plugin->Free(buffer);
}

// --- misuse that the device detects

TEST_F(TestDevicePlugin, RefusesForbiddenCopies) {
  EpBuffer* buffer = plugin->Allocate(0, 0, 1024);
  EpBuffer* far = plugin->Allocate(1, 0, 1024);
  EpStream* stream = plugin->Stream(0);
  const auto refused = [&](EpCopyEnd from, EpCopyEnd to, uint64_t size) {
    EXPECT_EQ(plugin->Copy(stream, from, to, size), EP_STATUS_INVALID_ARGUMENT);
    return NewComplaint();
  };
  int data[4] = {};
  EXPECT_THAT(refused(In(buffer), Host(data), 0), HasSubstr("0 bytes"));
  EXPECT_THAT(refused(In(buffer, 1024), Host(data), 16), HasSubstr("16 bytes from 1024"));
  EXPECT_THAT(refused(In(buffer, UINT64_MAX - 255), Host(data), 16), HasSubstr("of a buffer of 1024"));
  EXPECT_THAT(refused(In(buffer, 128), Host(data), 16), HasSubstr("offset 128"));
  EXPECT_THAT(refused(In(buffer), In(buffer, 256), 512), HasSubstr("overlap"));
  EXPECT_THAT(refused(Host(data), Host(data + 2), 8), HasSubstr("from host memory to host memory"));
  EXPECT_THAT(refused(In(far), Host(data), 16), HasSubstr("neither end"));
  EXPECT_THAT(refused({buffer, data, 0}, Host(data), 16), HasSubstr("a buffer and host memory"));
  EXPECT_THAT(refused(Host(nullptr), In(buffer), 16), HasSubstr("neither buffer nor host memory"));
  Plugin other("test_device_b");
  EpBuffer* foreign = other.Allocate(0, 0, 1024);
  EXPECT_THAT(refused(In(foreign), Host(data), 16), HasSubstr("another plugin's"));
  other.Free(foreign);
  EXPECT_EQ(control.copies, 0u);
  api.DestroyStream(stream);
  plugin->Free(buffer);
  plugin->Free(far);
}

TEST_F(TestDevicePlugin, SeesMemoryThatIsFreedTooEarlyOrTwice) {
  EpBuffer* buffer = plugin->Allocate(0, 0, 16);
  EpStream* stream = plugin->Stream(0);
  control.hold[0] = 1;
  EXPECT_EQ(plugin->Copy(stream, Host(one_to_four.data()), In(buffer), 16), EP_STATUS_OK);
  plugin->Free(buffer);
  EXPECT_THAT(NewComplaint(), HasSubstr("submitted work uses"));
  plugin->Free(buffer);
  EXPECT_THAT(NewComplaint(), HasSubstr("freed already"));
  api.DestroyStream(stream);
  EXPECT_THAT(NewComplaint(), HasSubstr("work under way"));
  EXPECT_EQ(CodeOf(api.Synchronize(stream, 1, 0)), EP_STATUS_INVALID_ARGUMENT);
  EXPECT_THAT(NewComplaint(), HasSubstr("destroyed already"));
}

TEST_F(TestDevicePlugin, SeesPointsThatSignalNeverGave) {
  EpStream* stream = plugin->Stream(0);
  EpStream* other = plugin->Stream(0);
  const uint64_t point = plugin->Signal(other);
  EXPECT_EQ(CodeOf(api.Wait(stream, other, point + 1)), EP_STATUS_INVALID_ARGUMENT);
  EXPECT_THAT(NewComplaint(), HasSubstr("never gave"));
  EXPECT_EQ(CodeOf(api.Synchronize(stream, point, 0)), EP_STATUS_INVALID_ARGUMENT);
  EXPECT_THAT(NewComplaint(), HasSubstr("never gave"));
  api.DestroyStream(stream);
  api.DestroyStream(other);
}

TEST_F(TestDevicePlugin, SeesStreamsThatUseOneMemoryWithoutWaiting) {
  EpBuffer* buffer = plugin->Allocate(0, 0, 1024);
  EpStream* writer = plugin->Stream(0);
  EpStream* reader = plugin->Stream(0);
  std::vector<int> read(4);
  control.hold[0] = 1;
  EXPECT_EQ(plugin->Copy(writer, Host(one_to_four.data()), In(buffer), 16), EP_STATUS_OK);
  // Another part of the buffer may belong to another value, so this is no race.
  EXPECT_EQ(plugin->Copy(reader, In(buffer, 256), Host(read.data()), 16), EP_STATUS_OK);
  EXPECT_EQ(control.violations, 0u);
  EXPECT_EQ(plugin->Copy(reader, In(buffer), Host(read.data()), 16), EP_STATUS_OK);
  EXPECT_THAT(NewComplaint(), HasSubstr("nothing makes it wait"));
  EXPECT_OK(api.Wait(reader, writer, plugin->Signal(writer)));
  EXPECT_EQ(plugin->Copy(reader, In(buffer), Host(read.data()), 16), EP_STATUS_OK);
  control.hold[0] = 0;
  EXPECT_EQ(plugin->Finish(reader), EP_STATUS_OK);
  EXPECT_EQ(read, one_to_four);
  api.DestroyStream(writer);
  api.DestroyStream(reader);
  plugin->Free(buffer);
}

TEST_F(TestDevicePlugin, WaitsAreTransitive) {
  EpBuffer* buffer = plugin->Allocate(0, 0, 16);
  EpStream* streams[] = {plugin->Stream(0), plugin->Stream(1), plugin->Stream(0)};
  std::vector<int> read(4);
  control.hold[0] = 1;
  EXPECT_EQ(plugin->Copy(streams[0], Host(one_to_four.data()), In(buffer), 16), EP_STATUS_OK);
  EXPECT_OK(api.Wait(streams[1], streams[0], plugin->Signal(streams[0])));
  EXPECT_OK(api.Wait(streams[2], streams[1], plugin->Signal(streams[1])));
  EXPECT_EQ(plugin->Copy(streams[2], In(buffer), Host(read.data()), 16), EP_STATUS_OK);
  control.hold[0] = 0;
  EXPECT_EQ(plugin->Finish(streams[2]), EP_STATUS_OK);
  EXPECT_EQ(read, one_to_four);
  for (EpStream* stream : streams) api.DestroyStream(stream);
  plugin->Free(buffer);
}

TEST_F(TestDevicePlugin, SeesTwoThreadsInOneStream) {
  EpStream* stream = plugin->Stream(0);
  const uint64_t point = plugin->Signal(stream);
  EXPECT_OK(api.Synchronize(stream, point, UINT64_MAX));
  // A listener for a reached point is called at once, inside OnReached. During that call this thread uses the stream.
  struct Meanwhile {
    const Plugin& plugin;
    EpStream* stream;
  } meanwhile = {*plugin, stream};
  EXPECT_OK(api.OnReached(
      stream, point,
      [](void* user, EpStatus*) {
        const auto* at = static_cast<const Meanwhile*>(user);
        std::async(std::launch::async, [at] { at->plugin.Signal(at->stream); }).wait();
      },
      &meanwhile));
  EXPECT_THAT(NewComplaint(), HasSubstr("Signal of a stream that another thread is using"));
  api.DestroyStream(stream);
}

TEST_F(TestDevicePlugin, SeesWhatIsLeftAtShutdown) {
  plugin->Allocate(0, 0, 16);
  plugin->Stream(1);
  plugin.reset();
  EXPECT_EQ(control.violations, 2u);
  EXPECT_THAT(control.complaints, ElementsAre(HasSubstr("1 streams"), HasSubstr("1 buffers")));
  expected_violations = 2;
}

TEST_F(TestDevicePlugin, RecordsWhatEachDeviceDidAndWhen) {
  EpBuffer* buffers[] = {plugin->Allocate(0, 0, 16), plugin->Allocate(1, 0, 16)};
  for (const uint32_t device : {1u, 0u}) {
    EpStream* stream = plugin->Stream(device);
    EXPECT_EQ(plugin->Copy(stream, Host(one_to_four.data()), In(buffers[device]), 16), EP_STATUS_OK);
    EXPECT_EQ(plugin->Finish(stream), EP_STATUS_OK);
    api.DestroyStream(stream);
  }
  ASSERT_EQ(control.spans.size(), 2u);
  EXPECT_EQ(control.spans[0].device, 1);
  EXPECT_EQ(control.spans[1].device, 0);
  EXPECT_EQ(control.spans[1].what, "copy");
  EXPECT_LE(control.spans[0].start_ns, control.spans[0].end_ns);
  EXPECT_LE(control.spans[0].end_ns, control.spans[1].start_ns);
  for (EpBuffer* buffer : buffers) plugin->Free(buffer);
}

}  // namespace
}  // namespace epiphyte::test::standalone
