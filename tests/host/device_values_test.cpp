// Values in device memory: allocation, copies to and from the device, import, export, and lifetime.
#include "tests/host/device_values.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <memory>

#include "tests/framework/temp_dir.h"

namespace epiphyte {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Number of elements of a tensor that is large enough for a buffer of its own, outside the pools for small ones.
constexpr int64_t kLarge = 1 << 19;

TEST_F(DeviceValues, SessionListsTheMemoriesOfItsDevices) {
  const Session session = Open(test::AddModel(), OnDevice());
  const std::vector<Memory> memories = session.memories();
  ASSERT_THAT(memories, SizeIs(2));
  const Memory& arena = memories[0];
  EXPECT_EQ(arena.provider(), "test_device");
  EXPECT_EQ(arena.name(), "arena");
  EXPECT_EQ(arena.device(), 0u);
  EXPECT_TRUE(arena.local());
  EXPECT_FALSE(arena.mappable());
  EXPECT_TRUE(arena.CanImport(HandleType::kOpaqueFd));
  EXPECT_TRUE(arena.CanExport(HandleType::kOpaqueFd));
  EXPECT_FALSE(arena.CanImport(HandleType::kHostPointer));
  EXPECT_FALSE(arena.CanExport(HandleType::kDmaBuf));
  EXPECT_EQ(memories[1].name(), "shared");
  EXPECT_TRUE(memories[1].mappable());
  EXPECT_FALSE(memories[1].local());
  EXPECT_TRUE(memories[1].CanImport(HandleType::kHostPointer));
  EXPECT_EQ(session.MemoryOf("test_device"), arena);
  EXPECT_EQ(session.MemoryOf("test_device", "arena"), arena);
  EXPECT_EQ(session.MemoryOf("test_device", "shared"), memories[1]);
  EXPECT_NE(arena, memories[1]);
}

TEST_F(DeviceValues, EachDeviceOfASessionHasItsMemories) {
  const Session session = Open(test::AddModel(), OnDevice({{"device", "1,0"}}));
  std::vector<std::string> found;
  for (const Memory& memory : session.memories()) found.push_back(memory.name() + std::to_string(memory.device()));
  EXPECT_THAT(found, ElementsAre("arena1", "shared1", "arena0", "shared0"));
  EXPECT_EQ(session.MemoryOf("test_device").device(), 1u) << "the first of the provider's";
}

TEST_F(DeviceValues, SessionsOfOneEnvironmentHaveTheSameMemories) {
  EXPECT_EQ(Arena(), Arena());
  EXPECT_NE(Arena(), Shared());
  EXPECT_NE(Arena(), ArenaOfOther());
  const Environment other = test::BundledPlugins({.plugin_folders = {Folder()}});
  const std::string model = test::AddModel();
  const Session elsewhere(other, std::as_bytes(std::span(model)), OnDevice());
  EXPECT_NE(Arena(), elsewhere.MemoryOf("test_device"));
}

TEST_F(DeviceValues, AMemoryThatIsNotThereIsAnErrorThatNamesThoseThatAre) {
  const Session session = Open(test::AddModel(), OnDevice());
  const Error name = ErrorOf([&] { session.MemoryOf("test_device", "vram"); });
  EXPECT_EQ(name.code(), StatusCode::kNotFound);
  EXPECT_STREQ(name.what(),
               "the session has no memory 'vram' of test_device; it has: 'arena' of test_device device 0, "
               "'shared' of test_device device 0");
  EXPECT_EQ(ErrorOf([&] { session.MemoryOf("cpu"); }).code(), StatusCode::kNotFound);
  const Session on_host = Open(test::AddModel(), SessionOptions().AddProvider("cpu"));
  EXPECT_THAT(on_host.memories(), SizeIs(0));
  const Error none = ErrorOf([&] { on_host.MemoryOf("cpu"); });
  EXPECT_EQ(none.code(), StatusCode::kNotFound);
  EXPECT_THAT(none.what(), HasSubstr("none of its providers has memory of its own"));
}

TEST_F(DeviceValues, AnEmptyMemoryIsTheHosts) {
  const Memory none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none, Memory());
  EXPECT_NE(none, Arena());
  EXPECT_EQ(ErrorOf([&] { none.name(); }).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf([&] { none.use(); }).code(), StatusCode::kInvalidArgument);
  const Value here = Value::In(none, ElementType::kFloat, {2, 3});
  EXPECT_FALSE(here.memory());
  EXPECT_NE(here.data(), nullptr);
  const Value copy = Floats({1, 2}, {2}).CopyTo(none);
  EXPECT_THAT(Read(copy), ElementsAre(1, 2));
  EXPECT_NE(here.CopyTo(none).data(), here.data());
  EXPECT_EQ(here.ToHost().data(), here.data());
  EXPECT_FALSE(Value::EmptyOptional().memory());
  EXPECT_FALSE(Value().ToHost());
}

TEST_F(DeviceValues, TensorsGoThereAndBack) {
  const Memory arena = Arena();
  const Value x = Floats({1, 2, 3, 4, 5, 6}, {2, 3});
  const Value there = x.CopyTo(arena);
  EXPECT_EQ(there.memory(), arena);
  EXPECT_THAT(there.shape(), ElementsAre(2, 3));
  EXPECT_EQ(there.byte_size(), 24u);
  EXPECT_EQ(Read(there), Read(x));
  EXPECT_EQ(there.ToHost().memory(), Memory());
  for (const Memory& memory : {arena, Shared(), ArenaOfOther(), Memory()}) {
    const Value copy = there.CopyTo(memory);
    EXPECT_EQ(copy.memory(), memory);
    EXPECT_EQ(Read(copy), Read(x));
    Value filled = Value::In(memory, ElementType::kFloat, {2, 3});
    filled.CopyFrom(there);
    EXPECT_EQ(Read(filled), Read(x));
    filled.CopyFrom(Floats({6, 5, 4, 3, 2, 1}, {2, 3}));
    EXPECT_THAT(Read(filled), ElementsAre(6, 5, 4, 3, 2, 1));
    EXPECT_EQ(Read(there), Read(x)) << "a copy is none of its source's business";
    Value back = Value::In(arena, ElementType::kFloat, {2, 3});
    back.CopyFrom(filled);
    back.CopyFrom(back);
    EXPECT_EQ(Read(back), Read(filled));
  }
}

TEST_F(DeviceValues, TensorsGoFromOneEnvironmentToAnother) {
  const Environment other = test::BundledPlugins({.plugin_folders = {Folder()}});
  const std::string model = test::AddModel();
  const Session session(other, std::as_bytes(std::span(model)), OnDevice());
  const Value here = Counting({4}).CopyTo(Arena());
  const Value there = here.CopyTo(session.MemoryOf("test_device"));
  EXPECT_THAT(Read(there), ElementsAre(0, 1, 2, 3));
  Value back = Value::In(Arena(), ElementType::kFloat, {4});
  back.CopyFrom(there);
  EXPECT_THAT(Read(back), ElementsAre(0, 1, 2, 3));
}

TEST_F(DeviceValues, AnyTypeAndShapeGoes) {
  const Memory arena = Arena();
  const std::array<uint8_t, 24> bytes = {1, 0, 1, 1, 0, 0, 0, 1, 9, 8, 7, 6, 5, 4, 3, 2, 1, 2, 3, 4, 5, 6, 7, 8};
  const auto same = [&](ElementType type, const Shape& shape, uint64_t size) {
    const Value back = Value::CopyBytes(type, shape, bytes.data(), size).CopyTo(arena).ToHost();
    EXPECT_EQ(back.element_type(), type);
    EXPECT_EQ(back.shape(), shape);
    ASSERT_EQ(back.byte_size(), size);
    EXPECT_EQ(std::memcmp(back.data(), bytes.data(), size), 0) << ElementTypeName(type);
  };
  same(ElementType::kBool, {2, 3}, 6);
  same(ElementType::kFloat16, {5}, 10);
  same(ElementType::kInt64, {3}, 24);
  same(ElementType::kInt4, {3, 3}, 5);
  same(ElementType::kUint8, {1}, 1);
  same(ElementType::kDouble, {}, 8);
  same(ElementType::kUint16, {1, 1, 1, 1, 1, 1, 1, 1, 12}, 24);
  EXPECT_EQ(Value::In(arena, ElementType::kFloat, {0, 3}).ToHost().element_count(), 0u);
  EXPECT_EQ(Value::Tensor(ElementType::kFloat, {3, 0}).CopyTo(arena).shape(), (Shape{3, 0}));
}

TEST_F(DeviceValues, WhatCanNotBeThereIsRefused) {
  const Memory arena = Arena();
  const auto refused = [](auto&& call) {
    const Error error = ErrorOf(call);
    EXPECT_EQ(error.code(), StatusCode::kInvalidArgument) << error.what();
    return std::string(error.what());
  };
  const Value strings = Value::Strings({"a"}, {1});
  EXPECT_THAT(refused([&] { strings.CopyTo(arena); }), HasSubstr("strings"));
  EXPECT_THAT(refused([&] { Value::In(arena, ElementType::kString, {1}); }), HasSubstr("strings"));
  EXPECT_THAT(refused([&] { Value::In(arena, ElementType::kUndefined, {1}); }), HasSubstr("element type 0"));
  EXPECT_THAT(refused([&] { Value::In(arena, ElementType::kFloat, {2, -1}); }), HasSubstr("-1"));
  EXPECT_THAT(refused([&] { Value().CopyTo(arena); }), HasSubstr("empty value"));
  EXPECT_THAT(refused([&] { Value::EmptyOptional().CopyTo(arena); }), HasSubstr("empty optional"));
  Value there = Value::In(arena, ElementType::kFloat, {2, 3});
  EXPECT_THAT(refused([&] { there.CopyFrom(Counting({3, 2})); }), AllOf(HasSubstr("float[3,2]"), HasSubstr("[2,3]")));
  EXPECT_THAT(refused([&] { there.CopyFrom(Value::Tensor(ElementType::kDouble, {2, 3})); }), HasSubstr("double[2,3]"));
  EXPECT_THAT(refused([&] { there.CopyFrom(strings); }), HasSubstr("strings"));
  EXPECT_THAT(refused([&] { Value::Sequence(ElementType::kFloat, {there}); }), HasSubstr("sequence"));
  const Shape endless = {int64_t{1} << 32, int64_t{1} << 32};
  EXPECT_NE(ErrorOf([&] { Value::In(arena, ElementType::kFloat, endless); }).code(), StatusCode::kOk);
}

TEST_F(DeviceValues, DataIsMappedWhereTheHostCanReadIt) {
  Value there = Counting({4}).CopyTo(Shared());
  EXPECT_EQ(BytesCopied([&] {
              EXPECT_THAT(there.Data<float>(), ElementsAre(0, 1, 2, 3));
              there.MutableData<float>()[1] = 7;
            }),
            0u);
  EXPECT_EQ(there.data(), there.mutable_data());
  EXPECT_THAT(Read(there), ElementsAre(0, 7, 2, 3));
  const Session session = Open(test::ChainModel({"Neg"}), OnDevice({{"memory", "shared"}}));
  Value x = Floats({1, 2}, {2}).CopyTo(Shared());
  x.MutableData<float>()[0] = -5;
  EXPECT_THAT(Read(session.Run({{"x", x}})[0]), ElementsAre(5, -2)) << "a run sees what the host wrote there";
}

TEST_F(DeviceValues, DataThatTheHostCanNotReadIsRefused) {
  Value there = Counting({4}).CopyTo(Arena());
  const Error error = ErrorOf([&] { there.data(); });
  EXPECT_EQ(error.code(), StatusCode::kInvalidArgument);
  EXPECT_STREQ(error.what(),
               "the tensor is in memory 'arena' of test_device device 0, which the host can't read; use ToHost() for a "
               "copy");
  EXPECT_EQ(ErrorOf([&] { there.mutable_data(); }).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf([&] { there.Data<float>(); }).code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(ErrorOf([&] { there.Data<double>(); }).what(), HasSubstr("tensor(float) found"));
}

TEST_F(DeviceValues, InputsAreReadWhereTheyAre) {
  const Session session = Open(test::AddModel(), OnDevice({{"host_io", "1"}}));
  const Value a = Counting({1000, 3}).CopyTo(session.MemoryOf("test_device"));
  const Value b = a.CopyTo(session.MemoryOf("test_device"));
  Value c;
  EXPECT_EQ(BytesCopied([&] { c = session.Run({{"a", a}, {"b", b}})[0]; }), 0u);
  EXPECT_FALSE(c.memory()) << "an output that nobody bound is in host memory";
  EXPECT_EQ(c.Data<float>()[2999], 5998);
  const Session on_host = Open(test::AddModel(), SessionOptions().AddProvider("test_device_b"));
  EXPECT_EQ(ErrorOf([&] {
              on_host.Run({{"a", a}, {"b", b}});
            }).code(),
            StatusCode::kInvalidArgument)
      << "another plugin's memory";
}

TEST_F(DeviceValues, RunsWithoutWaitingAcceptDeviceValues) {
  const Session session = Open(test::AddModel(), OnDevice());
  std::vector<std::future<RunResult>> results;
  {
    const Value a = Counting({100, 3}).CopyTo(session.MemoryOf("test_device"));
    for (int i = 0; i < 20; ++i) results.push_back(session.RunAsync({{"a", a}, {"b", a}}));
  }
  for (std::future<RunResult>& result : results) EXPECT_EQ(Read(result.get().Take()[0])[299], 598);
}

TEST_F(DeviceValues, TheLastOneMayGoInACallback) {
  std::promise<void> alone;
  std::promise<void> gone;
  {
    auto session = std::make_shared<Session>(Open(test::AddModel(), OnDevice()));
    auto kept = std::make_shared<Value>(Counting({100, 3}).CopyTo(session->MemoryOf("test_device")));
    session->RunAsync({{"a", *kept}, {"b", *kept}}, {}, [session, kept, &alone, &gone](RunResult result) mutable {
      alone.get_future().wait();
      EXPECT_EQ(Read(result.Take()[0])[1], 2);
      session.reset();
      EXPECT_EQ(Read(*kept)[1], 1) << "it keeps the environment";
      kept.reset();
      gone.set_value();
    });
    environment_.reset();
  }
  alone.set_value();
  gone.get_future().wait();
}

TEST_F(DeviceValues, HostMemoryIsImported) {
  std::vector<float> data = {1, 2, 3, 4};
  int released = 0;
  Value kept;
  {
    const Session session = Open(test::ChainModel({"Neg"}), OnDevice({{"memory", "shared"}, {"host_io", "1"}}));
    const Memory shared = session.MemoryOf("test_device", "shared");
    const Value x = Value::Import(shared, ElementType::kFloat, {2}, {.pointer = data.data(), .offset = 4, .size = 8},
                                  [&] { ++released; });
    EXPECT_EQ(x.memory(), shared);
    EXPECT_EQ(x.data(), data.data() + 1);
    EXPECT_EQ(BytesCopied([&] { EXPECT_THAT(Read(session.Run({{"x", x}})[0]), ElementsAre(-2, -3)); }), 0u);
    data[2] = 9;
    EXPECT_THAT(Read(session.Run({{"x", x}})[0]), ElementsAre(-2, -9));
    kept = x;
  }
  EXPECT_EQ(released, 0) << "the value is still there";
  EXPECT_EQ(control_.imports, 1u);
  kept = {};
  EXPECT_EQ(released, 1);
}

// Returns a memfd with these floats.
int MemoryFile(const std::vector<float>& data) {
  const int file = memfd_create("values", MFD_CLOEXEC);
  const auto bytes = static_cast<ssize_t>(data.size() * sizeof(float));
  EXPECT_EQ(write(file, data.data(), static_cast<size_t>(bytes)), bytes);
  return file;
}

TEST_F(DeviceValues, AMemfdIsImported) {
  std::vector<float> data(1024, 3);
  data[0] = 5;
  const int file = MemoryFile(data);
  Value there = Value::Import(Arena(), ElementType::kFloat, {1024},
                              {.type = HandleType::kOpaqueFd, .handle = file, .size = 4096});
  EXPECT_EQ(Read(there), data);
  data[1] = 6;
  there.CopyFrom(Value::Copy<float>(data, {1024}));
  float written[2];
  ASSERT_EQ(pread(file, written, sizeof written, 0), ssize_t{sizeof written});
  EXPECT_THAT(written, ElementsAre(5, 6)) << "it is the same memory";
  close(file);
  EXPECT_EQ(Read(there), data) << "the descriptor is the application's to close";
}

TEST_F(DeviceValues, WhatCanNotBeImportedIsRefused) {
  std::vector<float> data(4);
  bool released = false;
  const auto refused = [&](const Memory& memory, const ExternalMemory& external) {
    const Error error =
        ErrorOf([&] { Value::Import(memory, ElementType::kFloat, {4}, external, [&] { released = true; }); });
    EXPECT_EQ(error.code(), StatusCode::kInvalidArgument) << error.what();
    return std::string(error.what());
  };
  const ExternalMemory good = {.pointer = data.data(), .size = 16};
  ExternalMemory bad = good;
  EXPECT_THAT(refused(Memory(), good), HasSubstr("Value::Wrap"));
  EXPECT_THAT(refused(Arena(), good),
              AllOf(HasSubstr("test_device"), HasSubstr("'arena'"), HasSubstr("opaque file descriptors")));
  bad.type = static_cast<HandleType>(5);
  EXPECT_THAT(refused(Shared(), bad), HasSubstr("handles of type 5"));
  bad = good;
  bad.size = 12;
  EXPECT_THAT(refused(Shared(), bad), HasSubstr("12 bytes"));
  bad = good;
  bad.offset = ~uint64_t{0} - 3;
  EXPECT_THAT(refused(Shared(), bad), HasSubstr("at offset"));
  bad = good;
  bad.pointer = nullptr;
  EXPECT_THAT(refused(Shared(), bad), HasSubstr("null"));
  EXPECT_THAT(refused(Arena(), {.type = HandleType::kOpaqueFd, .handle = -1, .size = 16}), HasSubstr("-1"));
  const int file = MemoryFile(data);
  close(file);
  EXPECT_NE(ErrorOf([&] {
              Value::Import(Arena(), ElementType::kFloat, {4},
                            {.type = HandleType::kOpaqueFd, .handle = file, .size = 16}, [&] { released = true; });
            }).code(),
            StatusCode::kOk)
      << "the descriptor is closed";
  EXPECT_FALSE(released) << "there never was a value";
}

TEST_F(DeviceValues, AnotherPluginImportsWhatOneExports) {
  const Session other = Open(test::AddModel(), SessionOptions().AddProvider("test_device_b", {{"host_io", "1"}}));
  Value of_one = Counting({kLarge / 3, 3}).CopyTo(Arena());
  Value of_other;
  EXPECT_EQ(BytesCopied([&] {
              const ExternalMemory external = of_one.Export(HandleType::kOpaqueFd);
              EXPECT_GE(external.size, of_one.byte_size());
              of_other = Value::Import(other.MemoryOf("test_device_b"), ElementType::kFloat, of_one.shape(), external);
              close(static_cast<int>(external.handle));
              const Value sum = other.Run({{"a", of_other}, {"b", of_other}})[0];
              EXPECT_EQ(sum.Data<float>()[1000], 2000);
            }),
            0u);
  of_one.CopyFrom(Value::Copy<float>(std::vector<float>(of_one.element_count(), 2.5f), of_one.shape()));
  const auto is_written = [](float element) { return element == 2.5f; };
  EXPECT_TRUE(std::ranges::all_of(Read(of_other), is_written)) << "it is the same memory";
  const Shape shape = of_one.shape();
  of_one = {};
  const Value next = Counting(shape).CopyTo(Arena());
  EXPECT_TRUE(std::ranges::all_of(Read(of_other), is_written)) << "what the importer has is no pool's";
}

TEST_F(DeviceValues, WhatCanNotBeExportedIsRefused) {
  const auto refused = [](const Value& value, HandleType type = HandleType::kOpaqueFd) {
    const Error error = ErrorOf([&] { value.Export(type); });
    EXPECT_EQ(error.code(), StatusCode::kInvalidArgument) << error.what();
    return std::string(error.what());
  };
  EXPECT_THAT(refused(Counting({4})), HasSubstr("host memory"));
  EXPECT_THAT(refused(Value::EmptyOptional()), HasSubstr("empty optional"));
  const Value large = Value::In(Arena(), ElementType::kFloat, {kLarge});
  EXPECT_THAT(refused(large, HandleType::kDmaBuf),
              AllOf(HasSubstr("test_device"), HasSubstr("'arena'"), HasSubstr("opaque file descriptors")));
  EXPECT_THAT(refused(Value::In(Shared(), ElementType::kFloat, {kLarge})), HasSubstr("'shared'"));
  const Memory arena = Arena();
  const Value small = Value::In(arena, ElementType::kFloat, {1});
  const Value neighbour = Value::In(arena, ElementType::kFloat, {1});
  EXPECT_THAT(refused(small), HasSubstr("arena")) << "it shares its buffer with others";
}

TEST_F(DeviceValues, TheyOutliveSessionAndEnvironment) {
  Value output;
  Value made;
  {
    const Session session = Open(test::ChainModel({"Neg"}), OnDevice());
    made = Counting({2}).CopyTo(session.MemoryOf("test_device"));
    IoBinding binding(session);
    binding.BindInput("x", made);
    binding.BindOutput("y", session.MemoryOf("test_device"));
    binding.Run();
    output = binding.Output("y");
  }
  environment_.reset();
  EXPECT_EQ(output.memory().name(), "arena");
  EXPECT_THAT(Read(output), ElementsAre(0, -1));
  const Value another = Value::In(output.memory(), ElementType::kFloat, {2});
  output = {};
  made.CopyFrom(Floats({3, 4}, {2}));
  EXPECT_THAT(Read(made), ElementsAre(3, 4));
}

TEST_F(DeviceValues, AMemoryKeepsWhatValuesGaveBack) {
  Memory arena = Arena();
  arena.Trim();
  const uint64_t before = arena.use().allocations;
  for (int i = 0; i < 10; ++i) {
    const Value value = Value::In(arena, ElementType::kFloat, {kLarge});
    EXPECT_GE(arena.use().value_bytes, value.byte_size());
  }
  EXPECT_EQ(arena.use().allocations, before + 1);
  EXPECT_EQ(arena.use().value_bytes, 0u);
  EXPECT_GE(arena.use().kept_bytes, uint64_t{kLarge} * 4);
  EXPECT_GE(arena.use().device_total, arena.use().device_used);
  arena.Trim();
  EXPECT_EQ(arena.use().kept_bytes, 0u);
  EXPECT_EQ(arena.use().buffers, 0u);
}

TEST_F(DeviceValues, ASessionsValuesHaveTheLimitThatItSets) {
  SessionOptions options = OnDevice();
  options.Set("session.max_device_bytes", "65536");
  const Session session = Open(test::AddModel(), options);
  const Memory arena = session.MemoryOf("test_device");
  const Value small = Value::In(arena, ElementType::kFloat, {1024});
  const Error error = ErrorOf([&] { Value::In(arena, ElementType::kFloat, {1 << 20}); });
  EXPECT_EQ(error.code(), StatusCode::kOutOfMemory);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("session.max_device_bytes"), HasSubstr("a value of float[1048576]")));
  EXPECT_EQ(ErrorOf([&] { Value::In(small.memory(), ElementType::kFloat, {1 << 20}); }).code(),
            StatusCode::kOutOfMemory)
      << "the memory of a value counts as the value does";
  EXPECT_EQ(ErrorOf([&] { Counting({1 << 20}).CopyTo(arena); }).code(), StatusCode::kOutOfMemory);
  const Value of_another_session = Value::In(Arena(), ElementType::kFloat, {1 << 20});
  EXPECT_EQ(of_another_session.memory(), arena);
}

TEST_F(DeviceValues, ADeviceWithoutMemoryLeftSaysSo) {
  control_.capacity[0] = 8 << 20;
  const Error error = ErrorOf([&] { Value::In(Arena(), ElementType::kFloat, {4 << 20}); });
  EXPECT_EQ(error.code(), StatusCode::kOutOfMemory);
  EXPECT_THAT(error.what(), HasSubstr("a value of float[4194304]"));
  EXPECT_EQ(Value::In(Arena(), ElementType::kFloat, {1000}).byte_size(), 4000u) << "there is still some";
}

TEST_F(DeviceValues, AfterALossANewSessionHelps) {
  const Session session = Open(test::ChainModel({"Neg"}), OnDevice());
  const Value x = Floats({1, 2}, {2});
  const Value before = x.CopyTo(session.MemoryOf("test_device"));
  control_.lose_in[0] = 0;
  EXPECT_EQ(ErrorOf([&] { session.Run({{"x", x}}); }).code(), StatusCode::kDeviceReset);
  const Error again = ErrorOf([&] { session.Run({{"x", x}}); });
  EXPECT_EQ(again.code(), StatusCode::kDeviceReset) << again.what();
  EXPECT_THAT(again.what(), HasSubstr("new session"));

  const Session recovered = Open(test::ChainModel({"Neg"}), OnDevice());
  EXPECT_THAT(Read(recovered.Run({{"x", x}})[0]), ElementsAre(-1, -2));
  const Value there = x.CopyTo(recovered.MemoryOf("test_device"));
  EXPECT_THAT(Read(recovered.Run({{"x", there}})[0]), ElementsAre(-1, -2));
  EXPECT_EQ(ErrorOf([&] { Read(before); }).code(), StatusCode::kDeviceReset) << "what was in it is lost";
  EXPECT_EQ(ErrorOf([&] { recovered.Run({{"x", before}}); }).code(), StatusCode::kDeviceReset);
}

TEST_F(DeviceValues, AValueFileTakesThem) {
  const test::TempDir folder;
  SaveValue(folder / "x.pb", Counting({2, 3}).CopyTo(Arena()), TypeInfo(), "x");
  EXPECT_EQ(Read(LoadValue(folder / "x.pb", TypeInfo::Tensor(ElementType::kFloat))), Read(Counting({2, 3})));
}

TEST_F(DeviceValues, ATransformsConstantIsACopy) {
  Value there = Floats({10, 20}, {2}).CopyTo(Arena());
  SessionOptions options;
  options.AddProvider("cpu").AddTransform(
      {"acme.Shift", "", [&](GraphEditor& graph) {
         const GraphNode neg = graph.nodes()[0];
         const GraphValue by = graph.AddConstant(there, "by");
         graph.Replace(neg, graph.AddNode({.op_type = "Add", .inputs = {neg.input(0), by}}).output(0));
       }});
  const Session session = Open(test::ChainModel({"Neg"}), options);
  there.CopyFrom(Floats({0, 0}, {2}));
  there = {};
  EXPECT_THAT(Read(session.Run({{"x", Floats({1, 2}, {2})}})[0]), ElementsAre(11, 22));
}

}  // namespace
}  // namespace epiphyte
