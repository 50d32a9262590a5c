// ep.profile/1: spans of a plugin in the session's trace. The host refuses or clips impossible spans.
#include "core/abi/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cstring>
#include <map>

#include "core/abi/host_tables.h"
#include "epiphyte/kit/abi/profile.hpp"
#include "tests/abi/callback_plugin.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::Profile;
using core::Session;
using core::ValuePtr;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const EpProfileApi& ProfileApi() {
  return *static_cast<const EpProfileApi*>(core::HostInfo()->GetExtension(core::HostInfo(), EP_PROFILE_EXTENSION));
}

struct Recorded {
  std::string category, name, track;
  int64_t start_ns, end_ns;
};

class Recorder : public core::SpanSink {
 public:
  int64_t origin_ns() const override { return origin; }
  void AddSpan(const std::string& category, const std::string& name, const std::string& track, int64_t start_ns,
               int64_t end_ns) override {
    spans.push_back({category, name, track, start_ns, end_ns});
  }
  int64_t origin = ProfileApi().Now();
  std::vector<Recorded> spans;
};

EpProfileSpan SpanOf(const char* name, int64_t start, int64_t end, const char* track = nullptr) {
  EpProfileSpan span = {};
  span.struct_size = sizeof span;
  span.name = name;
  span.track = track;
  span.start_ns = start;
  span.end_ns = end;
  return span;
}

std::string Add(EpProfile* profile, const EpProfileSpan* span) {
  EpStatus* status = ProfileApi().AddSpans(profile, &span, 1);
  if (status == nullptr) return "OK";
  std::string message = core::HostInfo()->status->GetMessage(status);
  core::HostInfo()->status->Release(status);
  return message;
}
std::string Add(EpProfile* profile, const EpProfileSpan& span) { return Add(profile, &span); }

EpProfileSpan SpanOfNow(const char* name) {
  const int64_t now = ProfileApi().Now();
  return SpanOf(name, now, now);
}

TEST(ProfileSpans, ArriveAsTheyAreWithTheirRow) {
  Recorder recorder;
  const Profile profile(recorder, "npu");
  const int64_t now = ProfileApi().Now();
  EXPECT_EQ(Add(profile.handle(), SpanOf("multiply", recorder.origin, now, "queue 1")), "OK");
  EXPECT_EQ(Add(profile.handle(), SpanOf("copy\nback", now, now)), "OK");
  ASSERT_EQ(recorder.spans.size(), 2u);
  EXPECT_EQ(recorder.spans[0].category, "npu");
  EXPECT_EQ(recorder.spans[0].track, "npu: queue 1");
  EXPECT_EQ(recorder.spans[0].start_ns, recorder.origin);
  EXPECT_EQ(recorder.spans[0].end_ns, now);
  EXPECT_EQ(recorder.spans[1].name, "copy back");
  EXPECT_EQ(recorder.spans[1].track, "npu");
}

TEST(ProfileSpans, ThoseThatCanNotBeAreRefusedAllTogether) {
  Recorder recorder;
  const Profile profile(recorder, "npu");
  const int64_t now = ProfileApi().Now();
  EXPECT_THAT(Add(profile.handle(), SpanOf(nullptr, now, now)), HasSubstr("no name"));
  EXPECT_THAT(Add(profile.handle(), SpanOf("", now, now)), HasSubstr("no name"));
  EXPECT_THAT(Add(profile.handle(), SpanOf("back", now, now - 1)), HasSubstr("before it starts"));
  EXPECT_THAT(Add(profile.handle(), SpanOf("wild", INT64_MAX, INT64_MIN)), HasSubstr("before it starts"));
  EXPECT_THAT(Add(profile.handle(), nullptr), HasSubstr("null"));
  EpProfileSpan small = SpanOf("small", now, now);
  small.struct_size = 16;
  EXPECT_THAT(Add(profile.handle(), small), HasSubstr("struct_size 16"));
  EpProfileSpan strange = SpanOf("strange", now, now);
  strange.reserved = 1;
  EXPECT_THAT(Add(profile.handle(), strange), HasSubstr("1 in `reserved`"));

  const EpProfileSpan good = SpanOf("good", now, now);
  const EpProfileSpan bad = SpanOf("", now, now);
  const EpProfileSpan* const both[] = {&good, &bad};
  EpStatus* status = ProfileApi().AddSpans(profile.handle(), both, 2);
  EXPECT_NE(status, nullptr);
  core::HostInfo()->status->Release(status);
  status = ProfileApi().AddSpans(profile.handle(), nullptr, 2);
  EXPECT_NE(status, nullptr);
  core::HostInfo()->status->Release(status);
  EXPECT_EQ(ProfileApi().AddSpans(profile.handle(), nullptr, 0), nullptr);
  EXPECT_THAT(recorder.spans, IsEmpty());
}

TEST(ProfileSpans, TimesOutsideOfTheTraceAreClippedOrLeftOut) {
  Recorder recorder;
  const Profile profile(recorder, "npu");
  EXPECT_EQ(Add(profile.handle(), SpanOf("all", INT64_MIN, INT64_MAX)), "OK");
  EXPECT_EQ(Add(profile.handle(), SpanOf("device clock", 0, 1)), "OK");
  EXPECT_EQ(Add(profile.handle(), SpanOf("tomorrow", INT64_MAX - 1, INT64_MAX)), "OK");
  ASSERT_EQ(recorder.spans.size(), 1u);
  EXPECT_EQ(recorder.spans[0].start_ns, recorder.origin);
  EXPECT_GE(recorder.spans[0].end_ns, recorder.origin);
  EXPECT_LE(recorder.spans[0].end_ns, ProfileApi().Now());
}

TEST(ProfileSpans, AProfileThatIsNoneIsRefused) {
  Recorder recorder;
  EpProfile* gone = nullptr;
  {
    const Profile profile(recorder, "npu");
    gone = profile.handle();
  }
  const int64_t now = ProfileApi().Now();
  int foreign = 0;
  for (EpProfile* none : {gone, static_cast<EpProfile*>(nullptr), reinterpret_cast<EpProfile*>(&foreign)}) {
    EXPECT_THAT(Add(none, SpanOf("late", now, now)), HasSubstr("its provider was destroyed"));
  }
  EXPECT_THAT(recorder.spans, IsEmpty());
}

TEST(DeviceClock, CountsFromTheMomentWhenBothClocksWereRead) {
  const kit::DeviceClock clock(1'000, 5'000'000, 40.0);
  EXPECT_EQ(clock.ToHost(1'000), 5'000'000);
  EXPECT_EQ(clock.ToHost(1'025), 5'001'000);
  EXPECT_EQ(clock.ToHost(975), 4'999'000);
  const kit::DeviceClock wrapping(UINT64_MAX, 0, 1.0);
  EXPECT_EQ(wrapping.ToHost(9), 10);
}

class ProfiledSession : public testing::Test {
 protected:
  ProfiledSession() : plugin_(CallbackPlugin::Reset()), environment_(BuildTreeEnvironment()) {
    plugin_.claims = {"Neg"};
    environment_->catalog().Register(CallbackPlugin::Query, 1000);
  }
  // Computes y = -x and calls `more`.
  static EpStatus* Negate(EpRun* run, const std::function<void()>& more) {
    return kit::Guard(*core::HostInfo(), [&] {
      EpRunInfo info = {};
      info.struct_size = sizeof info;
      kit::ThrowIfFailed(*core::HostInfo(), core::HostInfo()->run->GetInfo(run, &info));
      const EpTensorView& x = *info.inputs[0]->tensor;
      void* y = nullptr;
      kit::ThrowIfFailed(*core::HostInfo(),
                         core::HostInfo()->run->AllocateOutput(run, 0, EP_TYPE_FLOAT, x.dims, x.rank, &y));
      for (uint64_t i = 0; i < x.element_count; ++i) static_cast<float*>(y)[i] = -static_cast<const float*>(x.data)[i];
      more();
    });
  }
  Session Open(const core::SessionOptions& options) {
    const std::string bytes =
        OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Neg(x) })");
    return Session(*environment_, bytes.data(), bytes.size(), options);
  }

  CallbackPlugin& plugin_;
  std::unique_ptr<core::Environment> environment_;
  TempDir dir_;
};

TEST_F(ProfiledSession, HasThePluginsSpansInRowsOfTheirOwn) {
  plugin_.on_compile = [](EpTask* task, const EpPartitionInfo&) -> EpStatus* {
    return kit::Guard(*core::HostInfo(), [&] {
      const kit::Profile profile(*core::HostInfo(), task);
      const kit::Profile::Span span(profile, "assemble");
    });
  };
  plugin_.on_execute = [](EpRun* run) {
    return Negate(run, [&] {
      const kit::Profile profile(*core::HostInfo(), run);
      EXPECT_TRUE(profile);
      const int64_t now = profile.Now();
      profile.Add("negate", now, now, "queue 0");
      profile.Add("copy", now, now, "queue 1");
    });
  };
  core::SessionOptions options = OptionsFor({"callback_plugin"});
  options.profile_path = dir_ / "trace.json";
  Session session = Open(options);
  session.Run(std::vector<ValuePtr>{Floats({2}, {1, 2})});

  const nlohmann::json trace = nlohmann::json::parse(session.ProfileJson());
  std::map<std::string, uint64_t> rows;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "M") rows[event["args"]["name"]] = event["tid"];
  }
  EXPECT_THAT(rows,
              testing::UnorderedElementsAre(testing::Key("callback_plugin"), testing::Key("callback_plugin: queue 0"),
                                            testing::Key("callback_plugin: queue 1")));
  std::map<std::string, uint64_t> spans;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X" && event["cat"] == "callback_plugin") spans[event["name"]] = event["tid"];
  }
  EXPECT_THAT(spans, testing::UnorderedElementsAre(testing::Pair("assemble", rows["callback_plugin"]),
                                                   testing::Pair("negate", rows["callback_plugin: queue 0"]),
                                                   testing::Pair("copy", rows["callback_plugin: queue 1"])));
}

TEST_F(ProfiledSession, WithoutProfilingThereIsNoTrace) {
  EpProfile* of_task = reinterpret_cast<EpProfile*>(1);
  EpProfile* of_run = reinterpret_cast<EpProfile*>(1);
  plugin_.on_compile = [&](EpTask* task, const EpPartitionInfo&) -> EpStatus* {
    of_task = ProfileApi().OfTask(task);
    return nullptr;
  };
  plugin_.on_execute = [&](EpRun* run) { return Negate(run, [&] { of_run = ProfileApi().OfRun(run); }); };
  Session session = Open(OptionsFor({"callback_plugin"}));
  session.Run(std::vector<ValuePtr>{Floats({2}, {1, 2})});
  EXPECT_EQ(of_task, nullptr);
  EXPECT_EQ(of_run, nullptr);
  EXPECT_EQ(ProfileApi().OfTask(nullptr), nullptr);
  EXPECT_EQ(ProfileApi().OfRun(nullptr), nullptr);
}

TEST_F(ProfiledSession, SpansMayComeAfterTheirRunAndUntilTheProviderIsGone) {
  EpProfile* kept = nullptr;
  std::string while_destroying;
  plugin_.on_execute = [&](EpRun* run) { return Negate(run, [&] { kept = ProfileApi().OfRun(run); }); };
  plugin_.on_destroy = [&] { while_destroying = Add(kept, SpanOfNow("last")); };
  {
    core::SessionOptions options = OptionsFor({"callback_plugin"});
    options.profile_path = dir_ / "trace.json";
    Session session = Open(options);
    session.Run(std::vector<ValuePtr>{Floats({2}, {1, 2})});
    ASSERT_NE(kept, nullptr);
    EXPECT_EQ(Add(kept, SpanOfNow("late")), "OK");
    EXPECT_THAT(session.ProfileJson(), HasSubstr("late"));
  }
  EXPECT_EQ(while_destroying, "OK");
  EXPECT_THAT(Add(kept, SpanOfNow("too late")), HasSubstr("was destroyed"));
}

}  // namespace
}  // namespace epiphyte::test
