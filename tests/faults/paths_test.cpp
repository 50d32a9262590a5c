// Names inside models, for contexts and external data: names that lead to a file, and messages about all others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fstream>

#include "epiphyte/session.hpp"
#include "tests/faults/contexts.h"
#include "tests/faults/forked.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

// A model in the folder `models` that refers to one good file. A test can make the model name any other file.
struct Subject {
  const char* name;
  const char* payload;                               // name of the good file
  std::string (*model)(const std::string& payload);  // returns the bytes of the model that names `payload`
  const char* thing;                                 // the term for the file in messages
};

TempDir* g_dir = nullptr;

std::string ContextNaming(const std::string& payload) {
  onnx::ModelProto model;
  model.ParseFromString(ReadFile(*g_dir / "models/m_ctx.onnx"));
  // Removes the metadata that binds the model to its files, so that only the path decides.
  model.clear_metadata_props();
  for (auto& attribute : *model.mutable_graph()->mutable_node(0)->mutable_attribute()) {
    if (attribute.name() == "ep_cache_context") attribute.set_s(payload);
  }
  return model.SerializeAsString();
}

std::string ExternalDataNaming(const std::string& payload) {
  onnx::ModelProto model;
  model.ParseFromString(SmallModel());
  onnx::GraphProto* graph = model.mutable_graph();
  graph->mutable_node()->DeleteSubrange(0, 1);  // the Constant that makes w
  onnx::TensorProto* w = graph->add_initializer();
  w->set_name("w");
  w->set_data_type(onnx::TensorProto::FLOAT);
  w->add_dims(3);
  w->add_dims(2);
  w->set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto* location = w->add_external_data();
  location->set_key("location");
  location->set_value(payload);
  return model.SerializeAsString();
}

const Subject kSubjects[] = {
    {"Context", "m_cpu.bin", ContextNaming, "g_cpu_0"},
    {"ExternalData", "w.data", ExternalDataNaming, "'w'"},
};

void PrintTo(const Subject& subject, std::ostream* stream) { *stream << subject.name; }

class PathTest : public testing::TestWithParam<Subject> {
 protected:
  PathTest() {
    g_dir = &dir_;
    fs::create_directories(dir_ / "models/sub");
    Compile(dir_.Write("models/m.onnx", SmallModel()), CompileOptions());
    const float w[] = {1, 2, 3, 4, 5, 6};
    std::ofstream(dir_ / "models/w.data", std::ios::binary).write(reinterpret_cast<const char*>(w), sizeof w);
    fs::copy_file(good(), dir_ / "outside.bin");
  }
  ~PathTest() override { g_dir = nullptr; }

  fs::path models() const { return dir_ / "models"; }
  fs::path good() const { return models() / GetParam().payload; }
  // Loads in a process of its own, because a name may make it wait forever.
  std::string Load(const std::string& payload) {
    const fs::path model = dir_.Write("models/subject.onnx", GetParam().model(payload));
    const Outcome outcome =
        RunForked([&] { return std::string(AreClose(RunModel(model), NumbersOf(Weights::kOld)) ? "right" : "wrong"); },
                  {}, std::chrono::seconds(10));
    return outcome.returned() || outcome.error() ? outcome.text : outcome.Describe();
  }
  // INVALID_GRAPH in one line, with the term, the path and the reason.
  testing::Matcher<std::string> Refused(const std::string& path, const std::string& reason) const {
    return AllOf(StartsWith("INVALID_GRAPH: "), HasSubstr(GetParam().thing), HasSubstr(path), HasSubstr(reason),
                 testing::Not(HasSubstr("\n")));
  }

  TempDir dir_;
};

INSTANTIATE_TEST_SUITE_P(Files, PathTest, testing::ValuesIn(kSubjects),
                         [](const auto& info) { return info.param.name; });

TEST_P(PathTest, FilesBelowTheFolderAreFound) {
  const std::string good = GetParam().payload;
  const std::vector<std::string> names = {"sub/file.bin",
                                          "./sub/./file.bin",
                                          "größe 中文 🌱.bin",
                                          "with space.bin",
                                          std::string(251, 'n') + ".bin",
                                          "sub/" + std::string(255, 'd') + "/file.bin"};
  EXPECT_EQ(Load(good), "right");
  for (const std::string& name : names) {
    fs::create_directories((models() / name).parent_path());
    fs::copy_file(this->good(), models() / name);
    EXPECT_EQ(Load(name), "right") << name;
    fs::remove(models() / name);
  }
}

TEST_P(PathTest, LinksThatStayInTheFolderAreFound) {
  fs::create_symlink(GetParam().payload, models() / "one.bin");
  fs::create_symlink("../models/one.bin", models() / "two.bin");
  fs::create_symlink(models() / "two.bin", models() / "sub/three.bin");
  fs::create_hard_link(good(), models() / "hard.bin");
  for (const char* name : {"one.bin", "two.bin", "sub/three.bin", "hard.bin"}) EXPECT_EQ(Load(name), "right") << name;
}

TEST_P(PathTest, AFolderThatIsALinkItselfIsFine) {
  dir_.Write("models/subject.onnx", GetParam().model(GetParam().payload));
  fs::create_directory_symlink(models(), dir_ / "link");
  EXPECT_TRUE(AreClose(RunModel(dir_ / "link/subject.onnx"), NumbersOf(Weights::kOld)));
}

TEST_P(PathTest, NamesThatAreNoRelativePathAreRefused) {
  EXPECT_THAT(Load((dir_ / "models" / GetParam().payload).string()), Refused(GetParam().payload, "absolute"));
  EXPECT_THAT(Load("/etc/passwd"), Refused("/etc/passwd", "absolute"));
  EXPECT_THAT(Load("../outside.bin"), Refused("../outside.bin", "'..'"));
  EXPECT_THAT(Load("sub/../../outside.bin"), Refused("outside.bin", "'..'"));
  EXPECT_THAT(Load("sub/.."), Refused("sub/..", "'..'"));
  EXPECT_THAT(Load("C:\\w.bin"), Refused("C:", "absolute"));
  EXPECT_THAT(Load("c:w.bin"), Refused("c:w.bin", "absolute"));
  EXPECT_THAT(Load("\\\\server\\share\\w.bin"), Refused("server", "absolute"));
  EXPECT_THAT(Load("//server/share/w.bin"), Refused("server", "absolute"));
  EXPECT_THAT(Load("sub\\file.bin"), Refused("file.bin", "backslash"));
  EXPECT_THAT(Load(std::string("w.bin\0.txt", 10)), Refused("w.bin", "zero byte"));
}

TEST_P(PathTest, AnEmptyNameIsRefused) {
  EXPECT_THAT(Load(""), AllOf(StartsWith("INVALID_GRAPH: "), HasSubstr(GetParam().thing),
                              ContainsRegex("empty|without a location")));
}

TEST_P(PathTest, NamesThatAreTooLongAreRefused) {
  EXPECT_THAT(Load(std::string(256, 'n')), Refused("nnnn", "File name too long"));
  std::string deep;
  while (deep.size() < 4090) deep += "d/";
  EXPECT_THAT(Load(deep + "file"), Refused("d/d/d", ""));
  EXPECT_THAT(Load(std::string(4096, 'n')), Refused("nnnn", "4095 bytes"));
  // The name is so long that the reader takes it for a payload.
  EXPECT_THAT(Load(std::string(100'000, 'n')), AllOf(StartsWith("INVALID_GRAPH: "), HasSubstr(GetParam().thing),
                                                     ContainsRegex("4095 bytes|a file name is expected")));
}

TEST_P(PathTest, ANameInAnotherCaseIsAnotherFile) {
  std::string name = GetParam().payload;
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  EXPECT_THAT(Load(name), Refused(name, "does not exist"));
  EXPECT_THAT(Load("missing.bin"), Refused("missing.bin", "does not exist"));
}

TEST_P(PathTest, LinksOutOfTheFolderAreRefused) {
  fs::create_symlink(dir_ / "outside.bin", models() / "out.bin");
  fs::create_symlink("out.bin", models() / "chain.bin");
  fs::create_directory_symlink(dir_.path(), models() / "up");
  for (const char* name : {"out.bin", "chain.bin", "up/outside.bin"}) {
    EXPECT_THAT(Load(name), Refused(name, "symbolic link")) << name;
  }
  fs::create_symlink("nowhere", models() / "dangling.bin");
  EXPECT_THAT(Load("dangling.bin"), Refused("dangling.bin", "does not exist"));
  fs::create_symlink("loop.bin", models() / "loop.bin");
  EXPECT_THAT(Load("loop.bin"), Refused("loop.bin", "can't be resolved"));
}

TEST_P(PathTest, WhatIsNoRegularFileIsRefusedWithoutWaiting) {
  ASSERT_EQ(mkfifo((models() / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(Load("pipe"), Refused("pipe", "no regular file"));
  EXPECT_THAT(Load("sub"), Refused("sub", "no regular file"));
  EXPECT_THAT(Load("."), Refused(".", "no regular file"));
  fs::create_symlink("/dev/zero", models() / "zero");
  EXPECT_THAT(Load("zero"), Refused("zero", "symbolic link"));
}

// Making a device beside the model needs a privilege. Without it, the test uses a link to a device.
TEST_P(PathTest, ADeviceIsRefused) {
  const bool made = mknod((models() / "zero").c_str(), S_IFCHR | 0600, makedev(1, 5)) == 0;
  if (!made) fs::create_symlink("/dev/zero", models() / "zero");
  EXPECT_THAT(Load("zero"), Refused("zero", made ? "no regular file" : "symbolic link"));
}

// --- the model's own path, which a user may choose freely

TEST(ModelPath, WhatIsNoRegularFileIsRefusedWithoutWaiting) {
  TempDir dir;
  ASSERT_EQ(mkfifo((dir / "pipe.onnx").c_str(), 0600), 0);
  fs::create_directory(dir / "folder.onnx");
  for (const fs::path& path : {dir / "pipe.onnx", dir / "folder.onnx", fs::path("/dev/zero")}) {
    const Outcome outcome = RunForked(
        [&] {
          RunModel(path);
          return std::string("ran");
        },
        {}, std::chrono::seconds(10));
    EXPECT_TRUE(outcome.error()) << path << " " << outcome.Describe();
    EXPECT_THAT(outcome.text, AllOf(HasSubstr(path.string()), HasSubstr("no regular file")));
  }
  EXPECT_THAT(ResultOf([&] { RunModel(dir / "missing.onnx"); }),
              AllOf(StartsWith("NO_SUCHFILE"), HasSubstr("missing.onnx")));
}

// --- output paths of contexts

TEST(OutputPath, AnyNameOfTheFileSystemWorks) {
  TempDir dir;
  const fs::path model = dir.Write("m.onnx", SmallModel());
  for (const std::string& name :
       {std::string("größe 中文 🌱_ctx.onnx"), std::string(" spaces .onnx"), std::string(240, 'n') + "_ctx.onnx"}) {
    Compile(model, CompileOptions({{"ep.context_file_path", (dir / name).string()}}));
    EXPECT_EQ(ResultOf([&] { EXPECT_TRUE(AreClose(RunModel(dir / name), NumbersOf(Weights::kOld))); }), "OK") << name;
  }
}

TEST(OutputPath, WhatCantBeWrittenIsSaidBeforeCompiling) {
  TempDir dir;
  const fs::path model = dir.Write("m.onnx", SmallModel());
  fs::create_directory(dir / "folder.onnx");
  const auto compile = [&](const std::string& path, std::vector<std::pair<std::string, std::string>> more = {}) {
    more.emplace_back("ep.context_file_path", path);
    return ResultOf([&] { Compile(model, CompileOptions(more)); });
  };
  EXPECT_THAT(compile((dir / "folder.onnx").string()), AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("folder")));
  EXPECT_THAT(compile((dir / "no/such/m.onnx").string()), AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("no/such")));
  // A name that reading would refuse must not be written.
  for (const char* name : {"back\\slash.onnx", "c:model.onnx"}) {
    EXPECT_THAT(compile((dir / name).string()), AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("read back")));
  }
  EXPECT_THAT(compile(model.string()), AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("source model")));
  for (const char* name : {"../w", "/tmp/w", "sub/w", ".", ".."}) {
    EXPECT_THAT(compile((dir / "o.onnx").string(), {{"ep.context_model_external_initializers_file_name", name}}),
                AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("expected a file name")))
        << name;
  }
  const std::string too_long = compile((dir / (std::string(256, 'n') + ".onnx")).string());
  EXPECT_THAT(too_long, testing::Not(testing::Eq("OK")));
  EXPECT_THAT(too_long, HasSubstr("nnnn"));
  EXPECT_THAT(FileNames(dir.path()), testing::ElementsAre("folder.onnx", "m.onnx"));
}

// A link at the output path is replaced, never followed.
TEST(OutputPath, ALinkIsReplacedAndItsTargetUntouched) {
  TempDir dir;
  const fs::path model = dir.Write("m.onnx", SmallModel());
  fs::create_directory(dir / "out");
  dir.Write("precious", "precious");
  for (const char* name : {"m_ctx.onnx", "m_cpu.bin"}) fs::create_symlink(dir / "precious", dir / "out" / name);
  const std::pair<std::string, std::string> path = {"ep.context_file_path", (dir / "out/m_ctx.onnx").string()};
  EXPECT_THAT(ResultOf([&] { Compile(model, CompileOptions({path})); }), HasSubstr("exists already"));
  Compile(model, CompileOptions({path, {"epiphyte.context_overwrite", "1"}}));
  EXPECT_EQ(ReadFile(dir / "precious"), "precious");
  EXPECT_FALSE(fs::is_symlink(dir / "out/m_ctx.onnx"));
  EXPECT_TRUE(AreClose(RunModel(dir / "out/m_ctx.onnx"), NumbersOf(Weights::kOld)));
}

}  // namespace
}  // namespace epiphyte::test
