// Kernels of the test device without a session. The test's host makes mistakes that the kernels must detect.
#include <cstring>
#include <deque>
#include <map>
#include <utility>

#include "tests/device/standalone_device.h"

namespace epiphyte::test::standalone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// --- a host that runs one kernel at a time

struct Tensor {
  EpTensorView view = {};
  EpValueView value = {};
};

struct FakeRun {
  uint64_t binding = 0;
  EpStream* stream = nullptr;
  std::vector<const EpValueView*> inputs;
  const EpTensorView* output = nullptr;
};
FakeRun& From(const EpRun* run) { return *reinterpret_cast<FakeRun*>(const_cast<EpRun*>(run)); }
EpRun* ToAbi(FakeRun& run) { return reinterpret_cast<EpRun*>(&run); }

constexpr EpGraphApi kGraphApi = [] {
  EpGraphApi api = {};
  api.struct_size = sizeof api;
  api.GetNodeInfo = [](const EpNode*, EpNodeInfo* info) -> EpStatus* {
    static const EpValueDef* const kValues[2] = {};
    *info = {};
    info->struct_size = sizeof *info;
    info->name = info->op_type = info->domain = "";
    info->inputs = info->outputs = kValues;
    info->input_count = 2;
    info->output_count = 1;
    return nullptr;
  };
  return api;
}();

constexpr EpRunApi kRunApi = [] {
  EpRunApi api = {};
  api.struct_size = sizeof api;
  api.GetInfo = [](const EpRun* run, EpRunInfo* info) -> EpStatus* {
    const FakeRun& mine = From(run);
    *info = {};
    info->struct_size = sizeof *info;
    info->input_count = static_cast<uint32_t>(mine.inputs.size());
    info->inputs = mine.inputs.data();
    info->output_count = 1;
    info->run_id = 1;
    info->binding = mine.binding;
    return nullptr;
  };
  return api;
}();

constexpr EpDeviceRunApi kDeviceRunApi = {
    sizeof(EpDeviceRunApi), 0,
    [](EpRun* run, EpStream** stream) -> EpStatus* {
      *stream = From(run).stream;
      return nullptr;
    },
    [](EpRun* run, uint32_t, EpElementType, const int64_t*, uint32_t, const EpTensorView** output) -> EpStatus* {
      *output = From(run).output;
      return nullptr;
    },
    nullptr};

constexpr EpHostInfo kHost = [] {
  EpHostInfo host = kStandaloneHost;
  host.graph = &kGraphApi;
  host.run = &kRunApi;
  host.GetExtension = [](const EpHostInfo*, const char* id) -> const void* {
    return std::strcmp(id, EP_DEVICE_EXTENSION) == 0 ? &kDeviceRunApi : nullptr;
  };
  return host;
}();

// A payload with one program of one step: Add of its two inputs.
std::string AddOfTwo() {
  std::string bytes;
  const auto number = [&](auto value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); };
  number(uint32_t{1});  // number of programs
  number(uint32_t{1});
  bytes += "g";
  number(uint32_t{2});  // inputs
  number(int32_t{EP_TYPE_FLOAT});
  number(int32_t{EP_TYPE_FLOAT});
  number(uint32_t{0});  // constants
  number(uint32_t{1});  // steps
  number(uint8_t{0});
  for (const uint32_t input : {0u, 1u, UINT32_MAX}) number(input);
  number(uint32_t{1});  // outputs
  number(uint32_t{2});
  const std::string rest = std::exchange(bytes, "EpTestDevice:");
  number(uint32_t{1});
  number(uint64_t{bytes.size() + sizeof(uint64_t) + rest.size()});
  return bytes + rest;
}

class TestDeviceKernels : public StandaloneDeviceTest {
 protected:
  TestDeviceKernels() : StandaloneDeviceTest(kHost) {}
  ~TestDeviceKernels() override {
    for (auto& hold : control.hold) hold = 0;
    for (EpStream* stream : streams_) EXPECT_EQ(plugin->Finish(stream), EP_STATUS_OK);
    for (EpStream* stream : streams_) api.DestroyStream(stream);
    for (EpBuffer* buffer : buffers_) plugin->Free(buffer);
    for (EpKernelState* state : states_) table_.ReleaseState(kernel_, state);
    if (kernel_ != nullptr) table_.ReleaseKernel(kernel_);
    if (provider_ != nullptr) table_.DestroyProvider(provider_);
  }

  void Load(std::map<std::string, std::string> options = {}) {
    std::vector<EpKeyValue> pairs;
    for (const auto& [key, value] : options) pairs.push_back({key.c_str(), value.c_str()});
    const uint32_t device = 0;
    EpProviderConfig config = {};
    config.struct_size = sizeof config;
    config.options = pairs.data();
    config.option_count = static_cast<uint32_t>(pairs.size());
    config.devices = &device;
    config.device_count = 1;
    EXPECT_OK(table_.CreateProvider(plugin->get(), &config, &provider_));
    const std::string payload = AddOfTwo();
    const EpContextBlob blob = {sizeof blob, 0, payload.data(), payload.size()};
    const EpContextBlob* const blobs[] = {&blob};
    EpContextNodeInfo node = {};
    node.struct_size = sizeof node;
    node.node = reinterpret_cast<const EpNode*>(&node);
    node.source = "TestDevice";
    node.partition_name = "g";
    const EpContextNodeInfo* const nodes[] = {&node};
    EXPECT_OK(table_.LoadContext(provider_, nodes, 1, blobs, 1, nullptr, &kernel_));
    stream_ = NewStream();
    a_ = &OnDevice(0, {1, 2, 3, 4});
    b_ = &OnDevice(0, {10, 20, 30, 40});
    y_ = &OnDevice(0, {0, 0, 0, 0});
    EXPECT_EQ(plugin->Finish(stream_), EP_STATUS_OK);
  }
  EpStream* NewStream() { return streams_.emplace_back(plugin->Stream(0)); }
  EpKernelState* NewState() {
    EXPECT_OK(table_.CreateState(kernel_, &states_.emplace_back()));
    return states_.back();
  }
  Tensor& New(EpTensorView view) {
    Tensor& tensor = tensors_.emplace_back();
    tensor.view = view;
    tensor.view.struct_size = sizeof view;
    tensor.view.element_type = EP_TYPE_FLOAT;
    tensor.view.rank = 1;
    tensor.view.dims = &kFour;
    tensor.view.element_count = 4;
    tensor.view.byte_size = 16;
    tensor.value = {sizeof tensor.value, EP_KIND_TENSOR, &tensor.view};
    return tensor;
  }
  Tensor& OnHost(std::vector<float> numbers) {
    EpTensorView view = {};
    view.data = host_.emplace_back(std::move(numbers)).data();
    return New(view);
  }
  // Returns a tensor in device memory. `stream_` fills it.
  Tensor& OnDevice(uint32_t memory, std::vector<float> numbers) {
    EpTensorView view = {};
    view.buffer = buffers_.emplace_back(plugin->Allocate(0, memory, 1024));
    view.memory = memory;
    view.offset = 256;
    host_.push_back(std::move(numbers));
    EXPECT_EQ(plugin->Copy(stream_, Host(host_.back().data()), In(view.buffer, 256), 16), EP_STATUS_OK);
    return New(view);
  }
  EpStatusCode Execute(const Tensor& a, const Tensor& b, const Tensor& y, EpKernelState* state = nullptr,
                       uint64_t binding = 0) {
    FakeRun run = {binding, stream_, {&a.value, &b.value}, &y.view};
    return CodeOf(table_.Execute(kernel_, state, ToAbi(run)));
  }
  std::vector<float> Read(const Tensor& tensor) {
    std::vector<float> numbers(4);
    EXPECT_EQ(plugin->Copy(stream_, In(tensor.view.buffer, tensor.view.offset), Host(numbers.data()), 16),
              EP_STATUS_OK);
    EXPECT_EQ(plugin->Finish(stream_), EP_STATUS_OK);
    return numbers;
  }

  const EpProviderApi& table_ = *plugin->descriptor().provider;
  EpProvider* provider_ = nullptr;
  EpKernel* kernel_ = nullptr;
  EpStream* stream_ = nullptr;
  const Tensor *a_ = nullptr, *b_ = nullptr, *y_ = nullptr;
  std::vector<EpStream*> streams_;
  std::vector<EpBuffer*> buffers_;
  std::vector<EpKernelState*> states_;
  std::deque<Tensor> tensors_;
  std::deque<std::vector<float>> host_;

 private:
  static constexpr int64_t kFour = 4;
};

TEST_F(TestDeviceKernels, WorkOnTheDeviceWhenTheStreamGetsThere) {
  Load();
  control.hold[0] = 1;
  EXPECT_EQ(Execute(*a_, *b_, *y_), EP_STATUS_OK);
  control.hold[0] = 0;
  EXPECT_THAT(Read(*y_), ElementsAre(11, 22, 33, 44));
  EXPECT_EQ(control.spans.back().what, "copy");
  EXPECT_EQ(control.spans.end()[-2].what, "Add");
}

TEST_F(TestDeviceKernels, SeeValuesWhereDescribeKernelDidNotAskForThem) {
  Load();
  EXPECT_EQ(Execute(OnHost({1, 1, 1, 1}), *b_, *y_), EP_STATUS_OK);
  EXPECT_THAT(NewComplaint(), HasSubstr("input 0 is in host memory"));
  EXPECT_EQ(Execute(*a_, OnDevice(1, {1, 1, 1, 1}), *y_), EP_STATUS_OK);
  EXPECT_THAT(NewComplaint(), HasSubstr("input 1 is in memory 1"));
  EXPECT_EQ(Execute(*a_, *b_, OnDevice(1, {1, 1, 1, 1})), EP_STATUS_OK);
  EXPECT_THAT(NewComplaint(), HasSubstr("output 0 is in memory 1"));
  EXPECT_EQ(plugin->Finish(stream_), EP_STATUS_OK);
}

TEST_F(TestDeviceKernels, SeeViewsThatAreWrong) {
  Load();
  Tensor beyond = *a_;
  beyond.value.tensor = &beyond.view;
  beyond.view.offset = 1024;
  EXPECT_EQ(Execute(beyond, *b_, *y_), EP_STATUS_INVALID_ARGUMENT);
  EXPECT_THAT(NewComplaint(), HasSubstr("ends beyond its buffer"));
  beyond.view.offset = 260;
  EXPECT_EQ(Execute(beyond, *b_, *y_), EP_STATUS_OK);
  EXPECT_THAT(NewComplaint(), HasSubstr("has offset 260"));
  beyond.view.offset = 256;
  beyond.view.memory = 1;
  EXPECT_EQ(Execute(beyond, *b_, *y_), EP_STATUS_OK);
  EXPECT_THAT(NewComplaint(), HasSubstr("not where its view says"));
  EXPECT_EQ(plugin->Finish(stream_), EP_STATUS_OK);
}

TEST_F(TestDeviceKernels, SeeAnOutputInMemoryThatTheyDidNotOffer) {
  Load();
  EXPECT_EQ(Execute(*a_, *b_, *a_), EP_STATUS_OK);
  EXPECT_THAT(NewComplaint(), HasSubstr("output 0 is in the memory of value 0"));
  EXPECT_EQ(plugin->Finish(stream_), EP_STATUS_OK);
}

TEST_F(TestDeviceKernels, WriteOverTheInputThatTheyOffer) {
  Load({{"aliases", "1"}});
  EXPECT_EQ(Execute(*a_, *b_, *a_), EP_STATUS_OK);
  EXPECT_THAT(Read(*a_), ElementsAre(11, 22, 33, 44));
  EXPECT_EQ(Execute(*a_, *b_, *b_), EP_STATUS_OK);
  EXPECT_THAT(NewComplaint(), HasSubstr("output 0 is in the memory of value 1"));
  EXPECT_EQ(plugin->Finish(stream_), EP_STATUS_OK);
}

TEST_F(TestDeviceKernels, SeeAStateThatIsUsedTwice) {
  Load();
  EpKernelState* state = NewState();
  EXPECT_EQ(Execute(*a_, *b_, *y_, state), EP_STATUS_OK);
  EXPECT_EQ(plugin->Finish(stream_), EP_STATUS_OK);
  control.hold[0] = 1;
  EXPECT_EQ(Execute(*a_, *b_, *y_, state), EP_STATUS_OK);
  EXPECT_EQ(control.violations, 0u);
  EXPECT_EQ(Execute(*a_, *b_, *y_, state), EP_STATUS_OK);
  EXPECT_THAT(NewComplaint(), HasSubstr("Execute with a state"));
}

TEST_F(TestDeviceKernels, SeeThatTheyAreReleasedTooEarly) {
  Load();
  EpKernelState* state = NewState();
  control.hold[0] = 1;
  EXPECT_EQ(Execute(*a_, *b_, *y_, state), EP_STATUS_OK);
  table_.ReleaseState(kernel_, state);
  EXPECT_THAT(NewComplaint(), HasSubstr("ReleaseState with work"));
  states_.clear();
  table_.ReleaseKernel(kernel_);
  EXPECT_THAT(NewComplaint(), HasSubstr("ReleaseKernel with work"));
  kernel_ = nullptr;
}

TEST_F(TestDeviceKernels, SeeABindingWhoseAddressesChange) {
  Load();
  EXPECT_EQ(Execute(*a_, *b_, *y_, nullptr, 7), EP_STATUS_OK);
  EXPECT_EQ(Execute(*a_, *b_, *y_, nullptr, 7), EP_STATUS_OK);
  EXPECT_EQ(Execute(*b_, *a_, *y_, nullptr, 8), EP_STATUS_OK);
  EXPECT_EQ(control.bindings_seen, 3u);
  EXPECT_EQ(control.bindings_broken, 0u);
  EXPECT_EQ(Execute(*b_, *a_, *y_, nullptr, 7), EP_STATUS_OK);
  EXPECT_THAT(NewComplaint(), HasSubstr("binding 7"));
  EXPECT_EQ(control.bindings_broken, 1u);
}

TEST_F(TestDeviceKernels, ThatAreNotAsyncSeeAnInputThatIsNotReady) {
  Load({{"async", "0"}});
  EXPECT_EQ(Execute(*a_, *b_, *y_), EP_STATUS_OK);
  EXPECT_THAT(Read(*y_), ElementsAre(11, 22, 33, 44));
  // A stream is still writing the value, because it waits for work of another device.
  EpStream* other = streams_.emplace_back(plugin->Stream(1));
  EpBuffer* far = buffers_.emplace_back(plugin->Allocate(1, 0, 16));
  control.hold[1] = 1;
  EXPECT_EQ(plugin->Copy(other, Host(host_.front().data()), In(far), 16), EP_STATUS_OK);
  EXPECT_OK(api.Wait(stream_, other, plugin->Signal(other)));
  EXPECT_EQ(plugin->Copy(stream_, Host(host_.front().data()), In(a_->view.buffer, 256), 16), EP_STATUS_OK);
  EXPECT_EQ(Execute(*a_, *b_, *y_), EP_STATUS_OK);
  EXPECT_THAT(NewComplaint(), HasSubstr("nothing makes it wait"));
}

}  // namespace
}  // namespace epiphyte::test::standalone
