// Random models with random places, inputs and bindings. Each run gives the CPU's numbers and writes only where it
// should. The device checks concurrent use on its streams and has no complaint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <random>

#include "tests/device/device_fixture.h"

namespace epiphyte::test {
namespace {

using core::OutputBinding;
using core::RunBindings;
using core::RunSettings;
using core::Session;
using core::SessionOptions;
using core::ValuePtr;

class Lot {
 public:
  explicit Lot(unsigned seed) : numbers_(seed) {}
  // Returns a random number from 0 to `count` - 1.
  size_t Below(size_t count) { return numbers_() % count; }
  bool OneIn(size_t count) { return Below(count) == 0; }
  std::string Flag() { return OneIn(2) ? "1" : "0"; }
  template <typename List>
  const auto& From(const List& list) {
    return list[Below(std::size(list))];
  }

 private:
  std::mt19937 numbers_;
};

constexpr int kInputs = 3;
constexpr const char* kBinary[] = {"Add", "Sub", "Max", "Min"};
constexpr const char* kUnary[] = {"Neg", "Relu", "Abs"};

struct RandomModel {
  std::string graph;
  size_t output_count = 0;
};

// Abs, Max and Min run on the CPU. Numbers grow by at most a factor of 2 for each node, so they stay exact.
RandomModel MakeModel(Lot& lot) {
  std::vector<std::string> values = {"x0", "x1", "x2"};
  std::string body;
  const size_t nodes = 3 + lot.Below(12);
  for (size_t i = 0; i < nodes; ++i) {
    const std::string name = fmt::format("v{}", i);
    const std::string& first = lot.From(values);
    if (lot.OneIn(8)) {
      body += fmt::format(R"(  {0} = If (c) <then_branch = t{0} () => (float[N] a{0}) {{ a{0} = Neg({1}) }},
                             else_branch = e{0} () => (float[N] b{0}) {{ k{0} = Add({1}, {2}) b{0} = Abs(k{0}) }}>
)",
                          name, first, lot.From(values));
    } else if (lot.OneIn(2)) {
      body += fmt::format("  {} = {}({}, {})\n", name, lot.From(kBinary), first, lot.From(values));
    } else {
      body += fmt::format("  {} = {}({})\n", name, lot.From(kUnary), first);
    }
    values.push_back(name);
  }
  // Outputs are the last value and some of the earlier ones, which other nodes may read, too.
  std::vector<std::string> outputs = {values.back()};
  for (size_t i = kInputs; i + 1 < values.size(); ++i) {
    if (lot.OneIn(4)) outputs.push_back(values[i]);
  }
  RandomModel model;
  model.output_count = outputs.size();
  model.graph = "g (bool c, float[N] x0, float[N] x1, float[N] x2) => (";
  for (size_t i = 0; i < outputs.size(); ++i) model.graph += (i == 0 ? "float[N] " : ", float[N] ") + outputs[i];
  model.graph += ") {\n" + body + "}";
  return model;
}

ProviderOptions MakeOptions(Lot& lot) {
  ProviderOptions options = {{"memory", lot.From(std::vector<std::string>{"arena", "arena", "shared", "both", "host"})},
                             {"each", lot.OneIn(4) ? "0" : "1"},
                             {"host_io", lot.OneIn(4) ? "1" : "0"},
                             {"async", lot.OneIn(6) ? "0" : "1"},
                             {"aliases", lot.Flag()}};
  if (options.at("memory") != "host" && lot.OneIn(6)) options["adopt"] = "1";
  return options;
}

class RandomModels : public DeviceTest, public testing::WithParamInterface<unsigned> {
 protected:
  // `devices`: set to the devices that provide the session's memory.
  SessionOptions MakeSession(Lot& lot, std::vector<int>* devices) {
    switch (lot.Below(3)) {
      case 0: *devices = {0}; return OnDevice(MakeOptions(lot));
      case 1: *devices = {0, 1}; return OnTwoDevices(lot.OneIn(2) ? "Neg,Sub" : "Add,Relu", MakeOptions(lot));
      default: {
        *devices = {0, 2};
        ProviderOptions first = MakeOptions(lot);
        ProviderOptions second = MakeOptions(lot);
        first["claims"] = lot.OneIn(2) ? "Add,Neg" : "Add,Relu,Sub";
        return OnTwoPlugins(std::move(first), std::move(second));
      }
    }
  }

  // Returns a copy of a host value in one of the devices' memories or in other host memory.
  ValuePtr SomewhereElse(Lot& lot, const core::Value& value, const std::vector<int>& devices) {
    ValuePtr copy = Floats({value.dims().begin(), value.dims().end()}, FloatsOf(value));
    if (lot.OneIn(3)) return copy;
    return InMemory(copy, lot.From(devices), lot.Below(2));
  }

  void RunOnce(Lot& lot, Session& session, const RandomModel& model, const std::vector<int>& devices,
               const Values& given, const Values& expected, core::BindingNumbers* numbers) {
    Values inputs = {given[0]};
    for (size_t i = 1; i < given.size(); ++i) inputs.push_back(SomewhereElse(lot, *given[i], devices));
    RunBindings bindings;
    bindings.numbers = numbers;
    std::vector<bool> is_overwritten(inputs.size(), false);
    for (size_t i = 0; i < model.output_count; ++i) {
      OutputBinding binding;
      switch (lot.Below(4)) {
        case 0: break;
        case 1: binding.memory = Memory(lot.From(devices), lot.Below(2)); break;
        case 2: binding.value = SomewhereElse(lot, *given[1], devices); break;
        default: {
          const size_t input = 1 + lot.Below(inputs.size() - 1);
          if (!is_overwritten[input]) binding.value = inputs[input];
          is_overwritten[input] = true;
        }
      }
      bindings.outputs.push_back(std::move(binding));
    }
    RunSettings settings;
    settings.bindings = lot.OneIn(4) ? nullptr : &bindings;
    if (settings.bindings == nullptr) is_overwritten.assign(inputs.size(), false);

    const Values outputs = session.Run(inputs, settings);
    ASSERT_EQ(outputs.size(), model.output_count);
    for (size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_EQ(Read(outputs[i]), FloatsOf(*expected[i])) << "output " << i;
      if (settings.bindings == nullptr || (!bindings.outputs[i].value && !bindings.outputs[i].memory)) {
        EXPECT_FALSE(outputs[i]->IsOnDevice());
      } else if (bindings.outputs[i].value) {
        EXPECT_EQ(outputs[i].get(), bindings.outputs[i].value.get());
      } else {
        EXPECT_EQ(core::PieceOf(*outputs[i])->pool(), bindings.outputs[i].memory);
      }
    }
    for (size_t i = 1; i < inputs.size(); ++i) {
      if (is_overwritten[i]) continue;
      EXPECT_EQ(Read(inputs[i]), FloatsOf(*given[i])) << "input " << i << " has changed";
    }
  }
};

TEST_P(RandomModels, GiveTheNumbersOfTheCpuWhateverIsBound) {
  Lot lot(GetParam());
  const RandomModel model = MakeModel(lot);
  std::vector<int> devices;
  const SessionOptions options = MakeSession(lot, &devices);
  std::string described = model.graph;
  for (const core::ProviderChoice& provider : options.providers) {
    described += "\n" + provider.name + " " + testing::PrintToString(provider.options);
  }
  SCOPED_TRACE(described);
  const auto session = Open(model.graph, options);
  const auto cpu = Open(model.graph, OptionsFor({"cpu"}));
  core::BindingNumbers numbers;
  for (int run = 0; run < 4; ++run) {
    const size_t size = lot.OneIn(8) ? 0 : 1 + lot.Below(200);
    Values inputs = {Bools({}, {lot.OneIn(2)})};
    for (int i = 0; i < kInputs; ++i) {
      std::vector<float> numbers_of_input(size);
      for (float& number : numbers_of_input) number = static_cast<float>(lot.Below(64)) - 32;
      inputs.push_back(Floats({static_cast<int64_t>(size)}, numbers_of_input));
    }
    RunOnce(lot, *session, model, devices, inputs, cpu->Run(inputs), &numbers);
    ASSERT_EQ(control_.violations, 0u) << Complaints();
    ASSERT_EQ(control_.bindings_broken, 0u);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomModels, testing::Range(0u, 200u));

}  // namespace
}  // namespace epiphyte::test
