#include "blob.h"

#include <bit>
#include <set>

namespace epiphyte::minimal {
namespace {

constexpr uint64_t kMagic = 0x31424d494e494d2eu, kByteOrder = 0x0102030405060708u, kOtherOrder = 0x0807060504030201u;
enum Head { kAtMagic, kAtOrder, kAtVersion, kAtSize, kAtDigest, kAtDescription, kHeadNumbers = 8 };
constexpr size_t kHeadSize = 8 * kHeadNumbers;

uint64_t Load(const uint8_t* from) {
  uint64_t number = 0;
  for (int i = 7; i >= 0; --i) number = number << 8 | from[i];
  return number;
}

void Store(uint8_t* to, uint64_t number) {
  for (int i = 0; i < 8; ++i) to[i] = static_cast<uint8_t>(number >> 8 * i);
}

// Each step can be undone, so any one change of the bytes changes the digest.
uint64_t Digest(const uint8_t* bytes, uint64_t size) {
  uint64_t digest = size;
  const auto mix = [&digest](uint64_t number) {
    digest = (digest ^ number) * 0x9e3779b97f4a7c15u;
    digest ^= digest >> 29;
  };
  for (uint64_t at = 0; at + 8 <= size; at += 8) mix(at == 8 * kAtDigest ? 0 : Load(bytes + at));
  for (uint64_t at = size / 8 * 8; at < size; ++at) mix(bytes[at]);
  return digest;
}

uint64_t Aligned(uint64_t offset) { return (offset + 63) / 64 * 64; }

// Writes a description or reads one; one definition of the fields serves both.
struct Archive {
  std::vector<uint8_t>* out = nullptr;  // null: reads
  const uint8_t *at = nullptr, *end = nullptr;

  template <typename T>
  void Number(T& number) {
    if (out != nullptr) {
      out->resize(out->size() + 8);
      return Store(&(*out)[out->size() - 8], static_cast<uint64_t>(number));
    }
    if (end - at < 8) Fail(NSDK_CORRUPT, "the blob's description ends too early");
    number = static_cast<T>(Load(at));
    at += 8;
  }
  template <typename Items, typename One>
  void Each(Items& items, One one) {
    uint64_t count = items.size();
    Number(count);
    if (out == nullptr && count > static_cast<uint64_t>(end - at) / 8)
      Fail(NSDK_CORRUPT, "the blob counts more than it has");
    items.resize(count);
    for (auto& item : items) one(item);
  }
  template <typename Numbers>
  void Plain(Numbers& numbers) {
    Each(numbers, [&](auto& number) { Number(number); });
  }

  // place(tensor, offset) is called for each constant. It sets the offset before the constant is written, and uses the
  // offset after the constant was read.
  template <typename Place>
  void Describe(Blob& blob, Place place) {
    Plain(blob.sdk_version);
    Plain(blob.architecture);
    Each(blob.graphs, [&](Graph& graph) {
      Plain(graph.name);
      Each(graph.tensors, [&](Tensor& tensor) {
        uint64_t offset = 0;
        if (out != nullptr && tensor.constant) place(tensor, offset);
        Plain(tensor.name);
        Number(tensor.type);
        Plain(tensor.dims);
        Each(tensor.scales, [&](float& scale) {
          uint32_t bits = std::bit_cast<uint32_t>(scale);
          Number(bits);
          scale = std::bit_cast<float>(bits);
        });
        Plain(tensor.zero_points);
        Number(tensor.axis);
        Number(tensor.constant);
        Number(offset);
        if (out == nullptr) CheckTensor(tensor);
        if (out == nullptr && tensor.constant) place(tensor, offset);
      });
      Each(graph.ops, [&](Op& op) {
        Number(op.kind);
        Plain(op.name);
        Plain(op.inputs);
        Plain(op.outputs);
        std::vector<std::pair<uint32_t, std::vector<int64_t>>> params(op.params.begin(), op.params.end());
        Each(params, [&](auto& param) {
          Number(param.first);
          Plain(param.second);
        });
        op.params = {params.begin(), params.end()};
      });
      Plain(graph.inputs);
      Plain(graph.outputs);
    });
  }
};

}  // namespace

uint64_t WeightsSize(const Graph& graph) {
  uint64_t size = 0;
  for (const Tensor& tensor : graph.tensors) size += tensor.constant ? tensor.Bytes() : 0;
  return size;
}

std::vector<uint8_t> WriteBlob(const std::string& architecture, std::vector<Graph> graphs) {
  std::vector<uint8_t> weights;
  std::map<std::string, uint64_t> known;  // offset of constants with these bytes, from the first constant on
  Blob blob{kSdkVersion, architecture, 0, 0, std::move(graphs)};
  std::vector<uint8_t> bytes(kHeadSize);
  Archive{&bytes}.Describe(blob, [&](const Tensor& tensor, uint64_t& offset) {
    offset = Aligned(weights.size());
    const std::string content(reinterpret_cast<const char*>(tensor.data), tensor.Bytes());
    const auto [found, added] = known.try_emplace(content, offset);
    offset = found->second;
    if (!added) return;
    weights.resize(offset);
    weights.insert(weights.end(), tensor.data, tensor.data + tensor.Bytes());
  });
  const uint64_t description = bytes.size() - kHeadSize;
  bytes.resize(Aligned(bytes.size()));
  bytes.insert(bytes.end(), weights.begin(), weights.end());
  const uint64_t head[] = {kMagic, kByteOrder, kBlobVersion, bytes.size(), 0, description};
  for (size_t i = 0; i < std::size(head); ++i) Store(&bytes[8 * i], head[i]);
  Store(&bytes[8 * kAtDigest], Digest(bytes.data(), bytes.size()));
  return bytes;
}

Blob ReadBlob(const uint8_t* bytes, uint64_t size) {
  if (bytes == nullptr || size < kHeadSize || Load(bytes) != kMagic) Fail(NSDK_CORRUPT, "this is no blob of this SDK");
  const auto head = [&](Head at) { return Load(bytes + 8 * at); };
  if (head(kAtOrder) == kOtherOrder) Fail(NSDK_INCOMPATIBLE, "the blob is big endian, expected little endian");
  if (head(kAtOrder) != kByteOrder) Fail(NSDK_CORRUPT, "the blob's mark of the byte order is damaged");
  if (head(kAtVersion) != kBlobVersion) {
    Fail(NSDK_INCOMPATIBLE,
         "the blob has version " + std::to_string(head(kAtVersion)) + ", expected " + std::to_string(kBlobVersion));
  }
  Blob blob;
  blob.size = head(kAtSize);
  const uint64_t description = head(kAtDescription);
  if (blob.size < kHeadSize || blob.size > size) {
    Fail(NSDK_CORRUPT, "the blob has " + std::to_string(size) + " bytes, expected " + std::to_string(blob.size));
  }
  if (Digest(bytes, blob.size) != head(kAtDigest)) Fail(NSDK_CORRUPT, "the blob is damaged: its digest is another");
  if (description > blob.size - kHeadSize) Fail(NSDK_CORRUPT, "the blob's description is larger than the blob");
  const uint64_t weights = Aligned(kHeadSize + description);
  std::set<const uint8_t*> counted;
  try {
    Archive archive{nullptr, bytes + kHeadSize, bytes + kHeadSize + description};
    archive.Describe(blob, [&](Tensor& tensor, uint64_t offset) {
      if (weights > blob.size || offset > blob.size - weights || tensor.Bytes() > blob.size - weights - offset) {
        Fail(NSDK_CORRUPT, "a constant is outside of the blob");
      }
      tensor.data = bytes + weights + offset;
      if (counted.insert(tensor.data).second) blob.weights_size += tensor.Bytes();
    });
    for (const Graph& graph : blob.graphs) CheckGraph(graph);
  } catch (const Error& error) {
    Fail(NSDK_CORRUPT, error.text);
  }
  return blob;
}

}  // namespace epiphyte::minimal
