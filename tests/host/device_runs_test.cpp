// Asynchronous runs on devices, through the public API.
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>

#include "tests/host/device_values.h"

namespace epiphyte {
namespace {

using ::testing::ElementsAre;

class DeviceRuns : public DeviceValues {
 protected:
  // Device 0 starts no work while an object of this class exists.
  class Hold {
   public:
    explicit Hold(test::TestDeviceControl& control) : control_(control) { control_.hold[0] = 1; }
    ~Hold() { control_.hold[0] = 0; }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    test::TestDeviceControl& control_;
  };

  // Returns false if the condition is still not met after 60 seconds.
  static bool WaitUntil(const std::function<bool()>& reached) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!reached()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  static std::vector<NamedValue> Input(float a, float b) { return {{"x", Floats({a, b}, {2})}}; }
};

TEST_F(DeviceRuns, ACallbackMayLetGoOfTheLastHandleOfItsSession) {
  for (int round = 0; round < 10; ++round) {
    const auto session =
        std::make_shared<std::optional<Session>>(Open(test::ChainModel({"Relu", "Abs", "Neg"}), OnDevice()));
    std::promise<std::vector<float>> told;
    (*session)->RunAsync(Input(-1, 2), {}, [&told, session](RunResult result) {
      session->reset();
      told.set_value(Read(result.Take().at(0)));
    });
    EXPECT_THAT(told.get_future().get(), ElementsAre(0, -2));
  }
}

TEST_F(DeviceRuns, EnvironmentMayBeDestroyedWithTheSession) {
  auto session = std::make_shared<std::optional<Session>>(Open(test::ChainModel({"Relu", "Neg"}), OnDevice()));
  environment_.reset();
  const auto told = std::make_shared<std::promise<std::vector<float>>>();
  std::future<std::vector<float>> result = told->get_future();
  (*session)->RunAsync(Input(-1, 2), {}, [told, session](RunResult run) {
    session->reset();
    told->set_value(Read(run.Take().at(0)));
  });
  session = nullptr;
  EXPECT_THAT(result.get(), ElementsAre(0, -2));
  EXPECT_TRUE(WaitUntil([&] { return control_.live_streams == 0 && control_.live_buffers == 0; }));
}

TEST_F(DeviceRuns, LettingGoOfASessionWaitsForWhatIsUnderWay) {
  std::atomic<int> done = 0;
  std::future<void> gone;
  {
    const Hold hold(control_);
    auto session = std::make_unique<Session>(Open(test::ChainModel({"Relu", "Neg"}), OnDevice()));
    for (int i = 0; i < 3; ++i) {
      session->RunAsync(Input(-1, 2), {}, [&](RunResult result) {
        EXPECT_THAT(Read(result.Take().at(0)), ElementsAre(0, -2));
        ++done;
      });
    }
    gone = std::async(std::launch::async, [session = std::move(session)]() mutable { session = nullptr; });
  }
  gone.get();
  EXPECT_EQ(done, 3);
}

TEST_F(DeviceRuns, ALossIsInTheResultAndTheCallbackMayMakeANewSession) {
  Session session = Open(test::ChainModel({"Relu", "Neg"}), OnDevice());
  control_.lose_in[0] = 1;
  std::promise<std::vector<float>> told;
  session.RunAsync(Input(-1, 2), {}, [&](RunResult result) {
    EXPECT_TRUE(result.error && result.error->code() == StatusCode::kDeviceReset);
    session = Open(test::ChainModel({"Relu", "Neg"}), OnDevice());
    told.set_value(Read(session.Run(Input(-1, 2)).at(0)));
  });
  EXPECT_THAT(told.get_future().get(), ElementsAre(0, -2));
}

TEST_F(DeviceRuns, ManyRunsWithoutWaitingGiveRightResults) {
  Session session = Open(test::ChainModel({"Relu", "Abs", "Neg"}), OnDevice());
  std::vector<std::future<RunResult>> runs;
  for (int i = 0; i < 100; ++i) runs.push_back(session.RunAsync(Input(static_cast<float>(i), -1)));
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(Read(runs[static_cast<size_t>(i)].get().Take().at(0)), ElementsAre(-static_cast<float>(i), 0));
  }
}

TEST_F(DeviceRuns, CancellingTwiceEndsARunOnceAndWaitsForItsWork) {
  Session session = Open(test::ChainModel({"Relu", "Abs", "Neg"}), OnDevice());
  std::stop_source source;
  std::future<RunResult> run;
  {
    const Hold hold(control_);
    run = session.RunAsync(Input(-1, 2), {.stop = source.get_token()});
    EXPECT_TRUE(WaitUntil([&] { return control_.synchronizes == 1u; })) << "for what Abs reads";
    EXPECT_TRUE(source.request_stop());
    EXPECT_FALSE(source.request_stop());
  }
  const RunResult result = run.get();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->code(), StatusCode::kCanceled);
  EXPECT_THAT(Read(session.Run(Input(-1, 2)).at(0)), ElementsAre(0, -2));
}

}  // namespace
}  // namespace epiphyte
