// Checks of the rules on blobs and on damaged blobs.
#include <algorithm>
#include <cstring>
#include <random>

#include "guarded_bytes.h"
#include "rules.h"
#include "test_graph.h"

namespace epiphyte::nsdk_conformance {
namespace {

// A small blob with inputs and expected outputs, and functions that examine changed copies of it.
class Specimen {
 public:
  explicit Specimen(Sdk& sdk) : sdk_(sdk), context_(sdk.MakeContext()), graph_(Graph(sdk, context_.get())) {
    blob = sdk.BlobOf(context_.get(), graph_);
    inputs_ = RandomInputs(graph_, 9);
    const Program program = sdk.Load(context_.get(), blob);
    expected_ = sdk.RunOnce(program.get(), 0, graph_, inputs_);
  }

  NsdkContext* context() const { return context_.get(); }

  bool Accepted(const uint8_t* bytes, size_t size, uint32_t* said = nullptr) {
    uint32_t verdict = 0;
    const NsdkStatus status = sdk_.api().check_blob(context_.get(), bytes, size, &verdict, nullptr);
    if (said != nullptr) *said = status == NSDK_OK ? verdict : 0;
    return status == NSDK_OK && (verdict == NSDK_OPTIMAL || verdict == NSDK_PREFER_RECOMPILE);
  }
  bool Accepted(const Bytes& bytes, uint32_t* said = nullptr) { return Accepted(bytes.data(), bytes.size(), said); }

  // Whether a changed blob that was accepted still computes the same. A blob that doesn't load counts as the same.
  bool ComputesTheSame(const Bytes& bytes) {
    NsdkProgram* loaded = nullptr;
    if (sdk_.api().load(context_.get(), bytes.data(), bytes.size(), nullptr, &loaded, nullptr) != NSDK_OK) return true;
    const Program program(loaded, sdk_.api().unload);
    return sdk_.RunOnce(program.get(), 0, graph_, inputs_) == expected_;
  }

  // Calls the functions that read a blob without loading it.
  void LookInto(const uint8_t* bytes, size_t size) {
    const NsdkBlobInfo* info = nullptr;
    if (sdk_.api().blob_info(bytes, size, &info, nullptr) == NSDK_OK) sdk_.api().blob_info_release(info);
    uint32_t verdict = 0;
    sdk_.api().check_blob(context_.get(), bytes, size, &verdict, nullptr);
  }

  Bytes blob;

 private:
  static TestGraph Graph(Sdk& sdk, NsdkContext* context) {
    sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
    return sdk.SmallGraph(context);
  }

  Sdk& sdk_;
  Context context_;
  TestGraph graph_;
  std::vector<Bytes> inputs_, expected_;
};

// Sizes of truncated blobs: all sizes below 160, the last two before the blob's own, and each multiple of 64, at which
// a section can begin, with the sizes beside it.
std::vector<size_t> Truncations(size_t size) {
  std::vector<size_t> sizes;
  for (size_t at = 1; at < size; ++at) {
    const size_t beside = at % 64;
    if (at < 160 || beside <= 1 || beside == 63 || at + 2 >= size) sizes.push_back(at);
  }
  // For a large blob only some sizes are tried.
  if (sizes.size() > 3000) {
    std::mt19937 random(5);
    std::shuffle(sizes.begin() + 300, sizes.end(), random);
    sizes.resize(3000);
  }
  return sizes;
}

// Copies of the blob with one bit changed: one for each byte of a small blob, or for some bytes of a large one.
std::vector<Bytes> Flips(const Bytes& blob, size_t most) {
  std::vector<size_t> places;
  for (size_t at = 0; at < blob.size(); ++at) places.push_back(at);
  std::mt19937 random(6);
  if (places.size() > most) {
    std::shuffle(places.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(most / 2, 512)), places.end(), random);
    places.resize(most);
  }
  std::vector<Bytes> flips;
  for (const size_t at : places) {
    flips.push_back(blob);
    flips.back()[at] ^= static_cast<uint8_t>(1u << random() % 8);
  }
  return flips;
}

std::vector<std::pair<const char*, Bytes>> Foreign(const Bytes& blob) {
  const auto with_head = [&](std::initializer_list<uint8_t> head, bool whole) {
    Bytes bytes = whole ? blob : Bytes(4096, 0);
    std::fill_n(bytes.begin(), std::min<size_t>(16, bytes.size()), 0);
    std::copy(head.begin(), head.end(), bytes.begin());
    return bytes;
  };
  const std::string text = "{\"producer\": \"another program\", \"graphs\": []}\n";
  std::vector<std::pair<const char*, Bytes>> foreign = {
      {"an ELF file", with_head({0x7F, 'E', 'L', 'F', 2, 1, 1}, false)},
      {"an ONNX model", with_head({0x08, 0x0A, 0x12, 0x07, 'p', 'y', 't', 'o', 'r', 'c', 'h'}, false)},
      {"a zip file", with_head({'P', 'K', 3, 4}, false)},
      {"a FlatBuffer", with_head({0x1C, 0, 0, 0, 'T', 'F', 'L', '3'}, false)},
      {"text", Bytes(text.begin(), text.end())},
      {"zeros", Bytes(4096, 0)},
      {"bytes of 255", Bytes(4096, 0xFF)},
      {"a blob with the first 16 bytes of an ELF file", with_head({0x7F, 'E', 'L', 'F', 2, 1, 1}, true)},
  };
  return foreign;
}

const char* NameOfVerdict(uint32_t verdict) {
  static constexpr const char* kNames[] = {"no verdict", "OPTIMAL", "PREFER_RECOMPILE", "MUST_RECOMPILE", "NOT_A_BLOB"};
  return verdict <= NSDK_NOT_A_BLOB ? kNames[verdict] : "a verdict that there isn't";
}

template <typename T>
const T& ElementAt(const T* first, size_t index) {
  return *reinterpret_cast<const T*>(reinterpret_cast<const char*>(first) + index * first->struct_size);
}

void ExpectPort(const char* what, const NsdkIo& port, const TestTensor& tensor) {
  Expect(port.name != nullptr && tensor.name == port.name, "{} is called '{}', expected '{}'", what,
         port.name == nullptr ? "" : port.name, tensor.name);
  Expect(port.type == tensor.type, "'{}' has type {}, expected {}", tensor.name, port.type, tensor.type);
  Expect(std::vector<int64_t>(port.dims, port.dims + port.rank) == tensor.dims, "'{}' has another shape", tensor.name);
  Expect(port.scale == (tensor.scales.empty() ? 0 : tensor.Scale()), "'{}' has scale {}, expected {}", tensor.name,
         port.scale, tensor.Scale());
  Expect(port.zero_point == tensor.ZeroPoint(), "'{}' has zero point {}, expected {}", tensor.name, port.zero_point,
         tensor.ZeroPoint());
  Expect(port.size == tensor.Size(), "'{}' has {} bytes, expected {}", tensor.name, port.size, tensor.Size());
}

}  // namespace

void InfoIsTheGraphs(Sdk& sdk) {
  sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
  const Context context = sdk.MakeContext();
  const std::vector<TestGraph> graphs = {sdk.SmallGraph(context.get(), "first", 1),
                                         sdk.SmallGraph(context.get(), "second", 2)};
  std::vector<Compiled> compiled;
  for (const TestGraph& graph : graphs) compiled.push_back(sdk.Compile(context.get(), graph));
  const Bytes blob = sdk.WriteBlob(context.get(), {&compiled[0], &compiled[1]});
  const Info info = sdk.InfoOf(blob.data(), blob.size());
  NsdkVersionInfo version = {};
  version.struct_size = sizeof version;
  Need(sdk.api().get_version_info(&version) == NSDK_OK, "get_version_info fails");
  Expect(info->size == blob.size(), "the size is {}, expected {}", info->size, blob.size());
  Expect(info->blob_version == version.blob_version_written, "the blob's version is {}, written is {}",
         info->blob_version, version.blob_version_written);
  Expect(info->sdk_version != nullptr && std::string(info->sdk_version) == version.version,
         "sdk_version isn't the SDK's");
  const NsdkTarget target = sdk.TargetOf(context.get());
  Expect(info->architecture != nullptr && std::string(info->architecture) == target.architecture,
         "the architecture isn't the target's");
  Need(info->graph_count == graphs.size() && info->graphs != nullptr, "there are {} graphs", info->graph_count);
  for (size_t i = 0; i < graphs.size(); ++i) {
    const NsdkBlobGraph& graph = ElementAt(info->graphs, i);
    Expect(graph.input_count == graphs[i].inputs.size() && graph.output_count == graphs[i].outputs.size(),
           "'{}' has {} inputs and {} outputs", graphs[i].name, graph.input_count, graph.output_count);
    for (uint32_t k = 0; k < graph.input_count; ++k)
      ExpectPort("an input", ElementAt(graph.inputs, k), graphs[i].tensors[graphs[i].inputs[k]]);
    for (uint32_t k = 0; k < graph.output_count; ++k)
      ExpectPort("an output", ElementAt(graph.outputs, k), graphs[i].tensors[graphs[i].outputs[k]]);
    Expect(graph.weights_size > 0, "'{}' has weights, and its weights_size is 0", graphs[i].name);
  }
}

void InfoNeedsNothing(Sdk& sdk) {
  sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
  Context context = sdk.MakeContext();
  const TestGraph graph = sdk.SmallGraph(context.get());
  const Bytes blob = sdk.BlobOf(context.get(), graph);
  context.reset();
  Info first = sdk.InfoOf(blob.data(), blob.size()), second = sdk.InfoOf(blob.data(), blob.size());
  first.reset();
  Expect(second->graph_count == 1 && graph.name == second->graphs->name,
         "information changes when another is released");
}

void FreshBlobIsOptimal(Sdk& sdk) {
  sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
  const Context context = sdk.MakeContext();
  const Bytes blob = sdk.BlobOf(context.get(), sdk.SmallGraph(context.get()));
  uint32_t verdict = 0;
  NsdkReason reason = EmptyReason();
  const NsdkStatus status = sdk.api().check_blob(context.get(), blob.data(), blob.size(), &verdict, &reason);
  Expect(status == NSDK_OK, "check_blob returned {}: {}", NameOf(status), reason.text);
  Expect(verdict == NSDK_OPTIMAL, "a blob that was just compiled is {}: {}", NameOfVerdict(verdict), reason.text);
}

void BytesBehindAreNoPart(Sdk& sdk) {
  Specimen specimen(sdk);
  Bytes longer = specimen.blob;
  longer.insert(longer.end(), 100, 0x5A);
  uint32_t verdict = 0;
  Expect(specimen.Accepted(longer, &verdict), "with 100 bytes behind it a blob is {}", NameOfVerdict(verdict));
  const NsdkBlobInfo* info = nullptr;
  const NsdkStatus status = sdk.api().blob_info(longer.data(), longer.size(), &info, nullptr);
  Expect(status == NSDK_OK, "with 100 bytes behind it: blob_info returned {}", NameOf(status));
  const Info held(info, sdk.api().blob_info_release);
  Expect(info->size == specimen.blob.size(), "with 100 bytes behind it a blob of {} has {}", specimen.blob.size(),
         info->size);
  Expect(specimen.ComputesTheSame(longer), "with 100 bytes behind it a blob computes other numbers");
}

void EmptyBlobIsNone(Sdk& sdk) {
  const Context context = sdk.MakeContext();
  const uint8_t byte = 0;
  for (const uint8_t* bytes : {static_cast<const uint8_t*>(nullptr), &byte}) {
    const NsdkBlobInfo* info = nullptr;
    NsdkStatus status = sdk.api().blob_info(bytes, 0, &info, nullptr);
    Expect(status != NSDK_OK, "blob_info of 0 bytes returned {}", NameOf(status));
    uint32_t verdict = NSDK_OPTIMAL;
    status = sdk.api().check_blob(context.get(), bytes, 0, &verdict, nullptr);
    Expect(status != NSDK_OK || verdict == NSDK_NOT_A_BLOB, "check_blob of 0 bytes: {}", NameOfVerdict(verdict));
    NsdkProgram* program = nullptr;
    status = sdk.api().load(context.get(), bytes, 0, nullptr, &program, nullptr);
    Expect(status != NSDK_OK, "load of 0 bytes returned {}", NameOf(status));
  }
}

void TruncatedBlobIsNone(Sdk& sdk) {
  Specimen specimen(sdk);
  for (const size_t size : Truncations(specimen.blob.size())) {
    uint32_t verdict = 0;
    Expect(!specimen.Accepted(specimen.blob.data(), size, &verdict), "the first {} of {} bytes are {}", size,
           specimen.blob.size(), NameOfVerdict(verdict));
    specimen.LookInto(specimen.blob.data(), size);
  }
}

void DamageIsFound(Sdk& sdk) {
  Specimen specimen(sdk);
  for (const Bytes& flip : Flips(specimen.blob, 6000)) {
    specimen.LookInto(flip.data(), flip.size());
    if (!specimen.Accepted(flip) || specimen.ComputesTheSame(flip)) continue;
    const auto at = std::mismatch(flip.begin(), flip.end(), specimen.blob.begin()).first - flip.begin();
    Expect(false, "with a bit of byte {} of {} changed, a blob is accepted and computes other numbers", at,
           flip.size());
  }
}

void LaterVersionIsRefused(Sdk& sdk) {
  Specimen specimen(sdk);
  NsdkVersionInfo version = {};
  version.struct_size = sizeof version;
  Need(sdk.api().get_version_info(&version) == NSDK_OK, "get_version_info fails");
  // The place of the version is not known, so each number in the head that equals it is changed.
  size_t found = 0;
  for (size_t at = 0; at + 4 <= std::min<size_t>(specimen.blob.size(), 256); at += 4) {
    uint32_t number;
    std::memcpy(&number, &specimen.blob[at], 4);
    if (number != version.blob_version_written) continue;
    ++found;
    Bytes later = specimen.blob;
    number = version.blob_version_max + 1;
    std::memcpy(&later[at], &number, 4);
    Expect(!specimen.Accepted(later), "a blob with version {} at byte {} is accepted, {} is the last known", number, at,
           version.blob_version_max);
  }
  if (found == 0) throw NotApplicable{"no number in the blob's first 256 bytes is its version"};
}

void OtherArchitectureIsRefused(Sdk& sdk) {
  Specimen specimen(sdk);
  const std::string architecture = sdk.TargetOf(specimen.context()).architecture;
  Bytes changed = specimen.blob;
  const auto at = std::search(changed.begin(), changed.end(), architecture.begin(), architecture.end());
  if (at != changed.end()) {
    *(at + static_cast<std::ptrdiff_t>(architecture.size()) - 1) ^= 1;
    Expect(!specimen.Accepted(changed), "a blob with another architecture written over its own is accepted");
  }
  if (sdk.target().other.empty()) {
    if (at == changed.end()) throw NotApplicable{"name another architecture's options with --other KEY=VALUE"};
    return;
  }
  const Context other = sdk.MakeContext(sdk.target().other, NSDK_WITHOUT_DEVICE);
  const std::string theirs = sdk.TargetOf(other.get()).architecture;
  Need(theirs != architecture, "the options of --other make no other architecture than '{}'", architecture);
  const Bytes blob = sdk.BlobOf(other.get(), sdk.SmallGraph(other.get()));
  uint32_t verdict = 0;
  specimen.Accepted(blob, &verdict);
  Expect(verdict == NSDK_MUST_RECOMPILE, "a blob for '{}' is {} for '{}'", theirs, NameOfVerdict(verdict),
         architecture);
  const Info info = sdk.InfoOf(blob.data(), blob.size());
  Expect(theirs == info->architecture, "a blob for '{}' says that it is for '{}'", theirs, info->architecture);
}

void OtherByteOrderIsRefused(Sdk& sdk) {
  Specimen specimen(sdk);
  const size_t head = std::min<size_t>(specimen.blob.size() / 8 * 8, 64);
  for (const size_t width : {4u, 8u}) {
    Bytes whole = specimen.blob;
    for (size_t at = 0; at < head; at += width) {
      Bytes one = specimen.blob;
      std::reverse(&one[at], &one[at] + width);
      std::reverse(&whole[at], &whole[at] + width);
      Expect(one == specimen.blob || !specimen.Accepted(one),
             "a blob with the {} bytes from {} in the other order is accepted", width, at);
    }
    Expect(!specimen.Accepted(whole), "a blob with its head's numbers of {} bytes in the other order is accepted",
           width);
  }
}

void ForeignBlobIsNone(Sdk& sdk) {
  Specimen specimen(sdk);
  for (const auto& [name, bytes] : Foreign(specimen.blob)) {
    uint32_t verdict = 0;
    Expect(!specimen.Accepted(bytes, &verdict), "{} is {}", name, NameOfVerdict(verdict));
    const NsdkBlobInfo* info = nullptr;
    const NsdkStatus status = sdk.api().blob_info(bytes.data(), bytes.size(), &info, nullptr);
    Expect(status == NSDK_CORRUPT || status == NSDK_INCOMPATIBLE, "blob_info of {} returned {}", name, NameOf(status));
  }
}

void LiesAboutSizes(Sdk& sdk) {
  Specimen specimen(sdk);
  const size_t end = std::min<size_t>(specimen.blob.size(), 512);
  const auto lie = [&](size_t at, const void* number, size_t width) {
    Bytes lying = specimen.blob;
    if (at + width > lying.size()) return;
    std::memcpy(&lying[at], number, width);
    if (lying == specimen.blob) return;
    specimen.LookInto(lying.data(), lying.size());
    Expect(!specimen.Accepted(lying) || specimen.ComputesTheSame(lying),
           "with another number at byte {} a blob is accepted and computes other numbers", at);
  };
  for (size_t at = 0; at < end; at += 4) {
    for (const uint32_t number :
         {0u, 1u, 0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFFu, static_cast<uint32_t>(specimen.blob.size()) + 1})
      lie(at, &number, 4);
    if (at % 8 != 0) continue;
    for (const uint64_t number :
         {UINT64_MAX, uint64_t{1} << 63, UINT64_MAX - 63, uint64_t{1} << 40, uint64_t{specimen.blob.size()} + 1})
      lie(at, &number, 8);
  }
}

void NothingBeyondTheEnd(Sdk& sdk) {
  Specimen specimen(sdk);
  const GuardedBytes whole{specimen.blob};
  specimen.LookInto(whole.data(), whole.size());
  for (const uint32_t flags : {0u, static_cast<uint32_t>(NSDK_BLOB_STAYS)}) {
    sdk.Load(specimen.context(), whole.data(), whole.size(), flags);
  }
  for (const size_t size : Truncations(specimen.blob.size())) {
    const GuardedBytes part(std::span<const uint8_t>(specimen.blob).first(size));
    specimen.LookInto(part.data(), part.size());
    NsdkProgram* program = nullptr;
    if (sdk.api().load(specimen.context(), part.data(), part.size(), nullptr, &program, nullptr) == NSDK_OK)
      sdk.api().unload(program);
  }
}

void LoadKeepsTheVerdict(Sdk& sdk) {
  Specimen specimen(sdk);
  std::vector<Bytes> blobs = Flips(specimen.blob, 1500);
  blobs.push_back(specimen.blob);
  for (const size_t size : Truncations(specimen.blob.size()))
    blobs.emplace_back(specimen.blob.begin(), specimen.blob.begin() + static_cast<std::ptrdiff_t>(size));
  for (auto& [name, bytes] : Foreign(specimen.blob)) blobs.push_back(std::move(bytes));
  for (const Bytes& blob : blobs) {
    uint32_t verdict = 0;
    const bool accepted = specimen.Accepted(blob, &verdict);
    NsdkProgram* program = nullptr;
    const NsdkStatus status = sdk.api().load(specimen.context(), blob.data(), blob.size(), nullptr, &program, nullptr);
    if (status == NSDK_OK) sdk.api().unload(program);
    Expect((status == NSDK_OK) == accepted, "check_blob says {}, and load returned {}", NameOfVerdict(verdict),
           NameOf(status));
  }
}

void LoadSaysWhatTheVerdictIs(Sdk& sdk) {
  Specimen specimen(sdk);
  std::vector<Bytes> blobs = Flips(specimen.blob, 1500);
  for (auto& [name, bytes] : Foreign(specimen.blob)) blobs.push_back(std::move(bytes));
  if (!sdk.target().other.empty()) {
    const Context other = sdk.MakeContext(sdk.target().other, NSDK_WITHOUT_DEVICE);
    blobs.push_back(sdk.BlobOf(other.get(), sdk.SmallGraph(other.get())));
  }
  for (const Bytes& blob : blobs) {
    uint32_t verdict = 0;
    if (specimen.Accepted(blob, &verdict)) continue;
    NsdkProgram* program = nullptr;
    const NsdkStatus status = sdk.api().load(specimen.context(), blob.data(), blob.size(), nullptr, &program, nullptr);
    if (status == NSDK_OK) sdk.api().unload(program);
    Need(status != NSDK_OK, "load takes what check_blob refuses");
    const NsdkStatus expected = verdict == NSDK_MUST_RECOMPILE ? NSDK_INCOMPATIBLE : NSDK_CORRUPT;
    Expect(status == expected, "check_blob says {}, and load returned {}", NameOfVerdict(verdict), NameOf(status));
  }
}

void VerdictNeedsNoDevice(Sdk& sdk) {
  Specimen specimen(sdk);
  const Context none = sdk.MakeContext(sdk.target().options, NSDK_WITHOUT_DEVICE);
  std::vector<Bytes> blobs = Flips(specimen.blob, 300);
  blobs.push_back(specimen.blob);
  blobs.emplace_back(specimen.blob.begin(), specimen.blob.end() - 1);
  for (const Bytes& blob : blobs) {
    uint32_t with = 0, without = 0;
    specimen.Accepted(blob, &with);
    const NsdkStatus status = sdk.api().check_blob(none.get(), blob.data(), blob.size(), &without, nullptr);
    Expect(status != NSDK_OK || with == without, "with a device check_blob says {}, without {}", NameOfVerdict(with),
           NameOfVerdict(without));
    Expect(status == NSDK_OK || with == 0, "check_blob in a context for no device returned {}", NameOf(status));
  }
}

}  // namespace epiphyte::nsdk_conformance
