// Sessions, bindings, placement and contexts through the public API, with the bundled CPU plugin.
#include <gmock/gmock.h>

#include <span>
#include <thread>

#include "epiphyte/epiphyte.hpp"
#include "tests/framework/temp_dir.h"
#include "tests/host/bundled_plugins.h"
#include "tests/host/small_models.h"

namespace epiphyte {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

Value Floats(std::vector<float> data, const Shape& shape) { return Value::Copy<float>(data, shape); }

class SessionTest : public ::testing::Test {
 protected:
  std::filesystem::path Write(const std::string& model) { return folder_.Write("model.onnx", model); }

  test::TempDir folder_;
  Environment environment_ = test::BundledPlugins();
};

TEST_F(SessionTest, UnknownTypeIsUnknown) {
  Session session(environment_, Write(test::UntypedModel()));
  ASSERT_THAT(session.inputs(), SizeIs(1));
  EXPECT_EQ(session.inputs()[0].type.kind(), ValueKind::kEmpty);
  ASSERT_THAT(session.outputs(), SizeIs(1));
  EXPECT_THAT(session.Run({{session.inputs()[0].name, Floats({-1, 2}, {2})}})[0].Data<float>(), ElementsAre(0, 2));
}

TEST_F(SessionTest, RunsAModelFromAFile) {
  Session session(environment_, Write(test::AddModel()));
  ASSERT_THAT(session.inputs(), SizeIs(2));
  EXPECT_EQ(session.inputs()[0].name, "a");
  EXPECT_EQ(session.inputs()[0].type.ToString(), "tensor(float)[batch,3]");
  std::vector<Value> outputs = session.Run({{"b", Floats({10, 20, 30}, {1, 3})}, {"a", Floats({1, 2, 3}, {1, 3})}});
  ASSERT_THAT(outputs, SizeIs(1));
  EXPECT_THAT(outputs[0].shape(), ElementsAre(1, 3));
  EXPECT_THAT(outputs[0].Data<float>(), ElementsAre(11, 22, 33));
}

TEST_F(SessionTest, ARunMayGiveAnInitializerThatIsAnInput) {
  Session session(environment_, Write(test::OverridableModel()));
  ASSERT_THAT(session.inputs(), SizeIs(1));
  EXPECT_EQ(session.inputs()[0].name, "x");
  ASSERT_THAT(session.overridable_initializers(), SizeIs(1));
  EXPECT_EQ(session.overridable_initializers()[0].name, "w");
  const Value x = Floats({1, 1}, {2}), w = Floats({10, 20}, {2});
  EXPECT_THAT(session.Run(std::vector<Value>{x})[0].Data<float>(), ElementsAre(2, 3));
  EXPECT_THAT(session.Run({{"w", w}, {"x", x}})[0].Data<float>(), ElementsAre(11, 21));
  EXPECT_THAT(session.RunAsync({{"w", w}, {"x", x}}).get().Take()[0].Data<float>(), ElementsAre(11, 21));
  IoBinding binding(session);
  binding.BindInput("x", x);
  binding.Run();
  EXPECT_THAT(binding.Output("y").Data<float>(), ElementsAre(2, 3));
  binding.BindInput("w", w);
  binding.Run();
  EXPECT_THAT(binding.Output("y").Data<float>(), ElementsAre(11, 21));
  binding.BindInput("w", Value());
  binding.Run();
  EXPECT_THAT(binding.Output("y").Data<float>(), ElementsAre(2, 3));
}

TEST_F(SessionTest, AnOptionMakesSuchAnInitializerAConstant) {
  SessionOptions options;
  options.Set("session.constant_initializers", "1");
  Session session(environment_, Write(test::OverridableModel()), options);
  EXPECT_THAT(session.overridable_initializers(), IsEmpty());
  EXPECT_THAT(session.Run({{"x", Floats({1, 1}, {2})}})[0].Data<float>(), ElementsAre(2, 3));
}

TEST_F(SessionTest, RunsAModelFromMemoryThatIsGoneByThen) {
  auto model = std::make_unique<std::string>(test::MatMulModel());
  Session session(environment_, Bytes(*model));
  std::ranges::fill(*model, '\0');
  model.reset();
  Value y = session.Run(std::vector<Value>{Floats({1, 0, 0, 0, 0, 0, 0, 1}, {2, 4})})[0];
  EXPECT_THAT(y.Data<float>(), ElementsAre(-1, -0.75f, -0.5f, 1.25f, 1.5f, 1.75f));
}

TEST_F(SessionTest, ReturnsTheOutputsThatAreAskedFor) {
  Session session(environment_, Bytes(test::MaskModel()));
  std::vector<int64_t> mask = {1, 0};
  std::vector<Value> outputs = session.Run(
      {{"x", Floats({3, 4}, {2})}, {"attention_mask", Value::Copy<int64_t>(mask, {2})}}, {.outputs = {"shape", "y"}});
  ASSERT_THAT(outputs, SizeIs(2));
  EXPECT_THAT(outputs[0].Data<int64_t>(), ElementsAre(2));
  EXPECT_THAT(outputs[1].Data<float>(), ElementsAre(3, 0));
}

TEST_F(SessionTest, InputsThatDoNotFitAreRefused) {
  Session session(environment_, Bytes(test::AddModel()));
  Value good = Floats({1, 2, 3}, {1, 3});
  auto refused = [&](std::vector<NamedValue> inputs) {
    try {
      session.Run(inputs);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::kInvalidArgument) << error.what();
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refused({{"a", good}}), HasSubstr("'b'"));
  EXPECT_THAT(refused({{"a", good}, {"b", good}, {"c", good}}), HasSubstr("'c'"));
  EXPECT_THAT(refused({{"a", good}, {"b", Floats({1, 2, 3, 4}, {1, 4})}}), HasSubstr("[1,4]"));
  EXPECT_THAT(refused({{"a", good}, {"b", Value::Copy<double>(std::vector<double>{1, 2, 3}, {1, 3})}}),
              HasSubstr("double"));
  EXPECT_THAT(refused({{"a", good}, {"b", Value::Strings({"x", "y", "z"}, {1, 3})}}), HasSubstr("string"));
  EXPECT_THROW(session.Run({{"a", good}, {"b", good}}, {.outputs = {"d"}}), Error);
}

TEST_F(SessionTest, ManyThreadsShareASession) {
  Session session(environment_, Bytes(test::AddModel()));
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        float x = static_cast<float>(t) * 1000 + static_cast<float>(i);
        Value y = session.Run({{"a", Floats({x, x, x}, {1, 3})}, {"b", Floats({1, 2, 3}, {1, 3})}})[0];
        if (y.Data<float>()[2] != x + 3) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
}

TEST_F(SessionTest, LivesOnItsEnvironmentsBehalf) {
  auto environment = std::make_unique<Environment>(test::BundledPlugins());
  Session session(*environment, Bytes(test::AddModel()));
  environment.reset();
  Value one = Floats({1, 1, 1}, {1, 3});
  Value sum = session.Run({{"a", one}, {"b", one}})[0];
  EXPECT_THAT(sum.Data<float>(), ElementsAre(2, 2, 2));
}

TEST_F(SessionTest, OutputsOutliveTheSession) {
  Value sum;
  {
    Session session(test::BundledPlugins(), Bytes(test::AddModel()));
    Value one = Floats({1, 1, 1}, {1, 3});
    sum = session.Run({{"a", one}, {"b", one}})[0];
  }
  EXPECT_THAT(sum.Data<float>(), ElementsAre(2, 2, 2));
}

TEST_F(SessionTest, BadModelsGiveTheirStatus) {
  auto code = [&](const std::string& model) {
    try {
      Session session(environment_, Write(model));
    } catch (const Error& error) {
      EXPECT_THAT(std::string(error.what()), ::testing::Not(HasSubstr("\n")));
      return error.code();
    }
    return StatusCode::kOk;
  };
  EXPECT_EQ(code("this is no model"), StatusCode::kInvalidProtobuf);
  EXPECT_NE(code(""), StatusCode::kOk);
  EXPECT_NE(code(test::AddModel().substr(0, 40)), StatusCode::kOk);
  EXPECT_EQ(code(test::UnknownOperatorModel()), StatusCode::kNotImplemented);
  try {
    Session session(environment_, folder_ / "absent.onnx");
    FAIL() << "a file that does not exist was opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kNoSuchFile);
  }
}

TEST_F(SessionTest, UnknownProviderNamesTheInstalledOnes) {
  try {
    Session session(environment_, Bytes(test::AddModel()), SessionOptions().AddProvider("cpy"));
    FAIL() << "an unknown provider was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kNotFound);
    EXPECT_THAT(error.what(), HasSubstr("cpu"));
  }
}

TEST_F(SessionTest, BindingRunsAgainAndAgain) {
  Session session(environment_, Bytes(test::AddModel()));
  IoBinding binding(session);
  Value a = Floats({1, 2, 3}, {1, 3});
  binding.BindInput("a", a);
  binding.BindInput("b", Floats({10, 20, 30}, {1, 3}));
  EXPECT_THROW(binding.Output("c"), Error) << "nothing has run yet";
  binding.Run();
  EXPECT_THAT(binding.Output("c").Data<float>(), ElementsAre(11, 22, 33));

  std::vector<float> result(3);
  binding.BindOutput("c", Value::Wrap<float>(result, {1, 3}));
  for (int i = 0; i < 3; ++i) {
    a.MutableData<float>()[0] = static_cast<float>(i);
    binding.Run();
    EXPECT_THAT(result, ElementsAre(10 + i, 22, 33));
  }
  EXPECT_EQ(binding.Output("c").data(), result.data());

  binding.BindOutput("c", Value());
  binding.Run();
  EXPECT_NE(binding.Output("c").data(), result.data());
}

TEST_F(SessionTest, BindingRefusesWhatDoesNotFit) {
  Session session(environment_, Bytes(test::AddModel()));
  IoBinding binding(session);
  EXPECT_THROW(binding.BindInput("z", Value()), Error);
  EXPECT_THROW(binding.BindOutput("z", Value()), Error);
  EXPECT_THROW(binding.BindOutput("c", Value::Strings({"x"}, {1})), Error);
  EXPECT_THROW(binding.Run(), Error) << "no input is bound";
  binding.BindInput("a", Floats({1, 2, 3}, {1, 3}));
  binding.BindInput("b", Floats({1, 2, 3}, {1, 3}));
  binding.BindOutput("c", Value::Tensor(ElementType::kFloat, {3, 1}));
  EXPECT_THROW(binding.Run(), Error) << "the output is [1,3], not [3,1]";
}

TEST_F(SessionTest, PlacementNamesTheProvider) {
  std::filesystem::path model = Write(test::AddModel());
  Placement placement = Placement::Of(environment_, model);
  ASSERT_THAT(placement.nodes(), SizeIs(1));
  EXPECT_EQ(placement.nodes()[0].op_type, "Add");
  EXPECT_EQ(placement.nodes()[0].provider, "cpu");
  EXPECT_THAT(placement.providers(), ElementsAre("cpu"));
  EXPECT_THAT(placement.Summary(), HasSubstr("cpu 1"));
  EXPECT_THAT(placement.ToDot(), HasSubstr("digraph"));
  Placement of_session = Session(environment_, model).placement();
  EXPECT_THAT(of_session.providers(), ElementsAre("cpu")) << "the placement keeps what it needs of its session";
}

TEST_F(SessionTest, PlacementListsRemovedNodes) {
  const Placement placement = Placement::Of(environment_, Write(test::ChainModel({"Identity", "Relu"})));
  ASSERT_THAT(placement.nodes(), SizeIs(1));
  ASSERT_THAT(placement.removed(), SizeIs(1));
  const RemovedNode node = placement.removed()[0];
  EXPECT_EQ(node.name, "Identity_0");
  EXPECT_EQ(node.op_type, "Identity");
  EXPECT_EQ(node.fate, "bypassed");
  EXPECT_EQ(node.into, "x");
  EXPECT_THAT(node.text, HasSubstr("'x'"));
  EXPECT_EQ(placement.RemovedSummary(), "1 more node of the model: 1 bypassed");
  EXPECT_THAT(placement.ToJson(), HasSubstr("\"bypassed\""));
}

TEST_F(SessionTest, CompilesOnceAndLoadsWhatWasCompiled) {
  std::filesystem::path model = Write(test::MatMulModel());
  Value x = Floats({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4});
  SessionOptions options;
  options.AddProvider("cpu").Set("ep.context_enable", "1");
  Session cold(environment_, model, options);
  ASSERT_TRUE(cold.context_files().has_value());
  EXPECT_FALSE(cold.has_context());
  ContextFiles files = *cold.context_files();
  EXPECT_EQ(files.model, folder_ / "model_ctx.onnx");
  EXPECT_EQ(files.context_nodes, 1u);

  Session loaded(environment_, files.model);
  EXPECT_TRUE(loaded.has_context());
  EXPECT_FALSE(loaded.context_files().has_value());
  Value before = cold.Run({{"x", x}})[0];
  Value after = loaded.Run({{"x", x}})[0];
  EXPECT_THAT(after.Data<float>(), ::testing::ElementsAreArray(before.Data<float>()));

  ContextInfo info = InspectContext(files.model);
  ASSERT_THAT(info.nodes, SizeIs(1));
  EXPECT_EQ(info.nodes[0].source, "EpiphyteCPU");
  EXPECT_TRUE(info.nodes[0].main_context);
  EXPECT_EQ(info.nodes[0].embed_mode, 0);
  EXPECT_EQ(info.nodes[0].digest, info.nodes[0].recorded_digest);
  EXPECT_THAT(info.nodes[0].problem, IsEmpty());
}

TEST_F(SessionTest, InspectShowsContextsOfPluginsThatAreNotInstalled) {
  ContextInfo info = InspectContext(Write(test::ForeignContextModel()));
  ASSERT_THAT(info.nodes, SizeIs(1));
  const ContextNodeInfo& node = info.nodes[0];
  EXPECT_EQ(node.source, "Nobody");
  EXPECT_EQ(node.partition, "graph_nobody_0");
  EXPECT_EQ(node.embed_mode, 1);
  EXPECT_EQ(node.size, 18u);
  EXPECT_THAT(node.digest, SizeIs(32));
  EXPECT_EQ(node.sdk_version, "1.2.3");
  EXPECT_EQ(node.hardware, "n1");
  EXPECT_EQ(node.notes, "made by hand");
  EXPECT_THAT(InspectContext(Write(test::AddModel())).nodes, IsEmpty());
}

TEST_F(SessionTest, InspectSeesAPayloadThatWasChanged) {
  std::filesystem::path model = Write(test::MatMulModel());
  SessionOptions options;
  options.AddProvider("cpu").Set("ep.context_enable", "1");
  ContextFiles files = *Session(environment_, model, options).context_files();
  std::string file = InspectContext(files.model).nodes.at(0).file;
  std::string bytes = test::ReadFile(folder_ / file);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  folder_.Write(file, bytes);
  EXPECT_THAT(InspectContext(files.model).nodes.at(0).problem, HasSubstr("digest"));
  folder_.Write(file, bytes.substr(1));
  EXPECT_THAT(InspectContext(files.model).nodes.at(0).problem, HasSubstr("bytes"));
  std::filesystem::remove(folder_ / file);
  EXPECT_THAT(InspectContext(files.model).nodes.at(0).problem, HasSubstr(file));
}

TEST_F(SessionTest, ProfileIsAChromeTrace) {
  std::filesystem::path trace = folder_ / "trace.json";
  {
    Session session(environment_, Bytes(test::AddModel()), SessionOptions().SetProfile(trace));
    Value one = Floats({1, 1, 1}, {1, 3});
    session.Run({{"a", one}, {"b", one}});
    EXPECT_THAT(session.ProfileJson(), HasSubstr("\"ph\""));
  }
  EXPECT_THAT(test::ReadFile(trace), HasSubstr("\"ph\""));
}

TEST_F(SessionTest, ValuesGoThroughFiles) {
  TypeInfo type = TypeInfo::Tensor(ElementType::kFloat);
  SaveValue(folder_ / "x.pb", Floats({1, 2}, {2, 1}), type, "x");
  Value read = LoadValue(folder_ / "x.pb", type);
  EXPECT_THAT(read.shape(), ElementsAre(2, 1));
  EXPECT_THAT(read.Data<float>(), ElementsAre(1, 2));
  EXPECT_THROW(SaveValue(folder_ / "y.pb", Value(), type, "y"), Error);
  EXPECT_THROW(LoadValue(folder_ / "absent.pb", type), Error);
}

}  // namespace
}  // namespace epiphyte
