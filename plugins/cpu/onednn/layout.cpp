#include "plugins/cpu/onednn/layout.h"

#include <array>
#include <charconv>

#include "plugins/cpu/onednn/reorder_call.h"

namespace epiphyte::cpu {

namespace {

bool IsRowMajor(const MemoryDesc& desc) {
  const BlockedDesc d = Describe(desc);
  if (!d.blocked || d.extra || d.dims != d.padded) return false;
  if (d.block_sizes.size() == 1 && d.block_dims[0] == 1) {
    // Blocked channels without any spatial extent: the channels are in their natural order.
    for (size_t i = 2; i < d.dims.size(); ++i)
      if (d.dims[i] != 1) return false;
    return d.strides[1] == d.block_sizes[0] && (d.dims[0] == 1 || d.strides[0] == d.dims[1]);
  }
  if (!d.block_sizes.empty()) return false;
  int64_t stride = 1;
  for (size_t i = d.dims.size(); i-- > 0;) {
    if (d.dims[i] != 1 && d.strides[i] != stride) return false;
    stride *= d.dims[i];
  }
  return true;
}

void AppendList(std::string& text, const std::vector<int64_t>& list) {
  for (int64_t item : list) text += FormatText("{},", item);
  text += ';';
}

bool ReadList(std::string_view& text, size_t most, std::vector<int64_t>* list) {
  list->clear();
  while (!text.empty() && text.front() != ';') {
    int64_t item = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), item);
    if (error != std::errc() || end == text.data() + text.size() || *end != ',' || list->size() == most) return false;
    list->push_back(item);
    text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  }
  if (text.empty()) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::shared_ptr<const Layout> MakeLayout(const MemoryDesc& desc) {
  if (IsRowMajor(desc)) return nullptr;
  return std::make_shared<const Layout>(Layout{desc, OrderOf(desc)});
}

void Reorder(const MemoryDesc& from_desc, const void* from, const MemoryDesc& to_desc, void* to) {
  ReorderCall().Run(from_desc, from, to_desc, to);
}

void ReorderToRowMajor(const Tensor& from, void* to) {
  Reorder(from.layout->desc, from.data, PlainDesc(from.type, from.dims), to);
}

std::string DescToText(const MemoryDesc& desc) {
  const BlockedDesc d = Describe(desc);
  if (!d.blocked || d.extra) return {};
  std::string text = "blocked;";
  AppendList(text, d.dims);
  AppendList(text, d.padded);
  AppendList(text, d.strides);
  AppendList(text, d.block_sizes);
  AppendList(text, d.block_dims);
  return text;
}

bool ParseDesc(std::string_view text, ElementType type, std::span<const int64_t> dims, uint64_t bytes,
               MemoryDesc* desc) {
  constexpr std::string_view kPrefix = "blocked;";
  if (!text.starts_with(kPrefix)) return false;
  text.remove_prefix(kPrefix.size());
  BlockedDesc d;
  const size_t rank = dims.size();
  if (!ReadList(text, rank, &d.dims) || !ReadList(text, rank, &d.padded) || !ReadList(text, rank, &d.strides) ||
      !ReadList(text, DNNL_MAX_NDIMS, &d.block_sizes) || !ReadList(text, DNNL_MAX_NDIMS, &d.block_dims) ||
      !text.empty())
    return false;
  if (rank == 0 || rank > DNNL_MAX_NDIMS || d.dims.size() != rank || d.padded.size() != rank ||
      d.strides.size() != rank || d.block_sizes.size() != d.block_dims.size() ||
      !std::equal(d.dims.begin(), d.dims.end(), dims.begin()))
    return false;

  // The last element must lie inside the bytes. Each factor is bounded before the multiplication.
  constexpr int64_t kMost = int64_t{1} << 40;
  std::array<int64_t, DNNL_MAX_NDIMS> block;
  block.fill(1);
  int64_t inner = 1;
  for (size_t i = 0; i < d.block_sizes.size(); ++i) {
    if (d.block_sizes[i] < 1 || d.block_sizes[i] > 1024 || d.block_dims[i] < 0 ||
        d.block_dims[i] >= static_cast<int64_t>(rank))
      return false;
    block[d.block_dims[i]] *= d.block_sizes[i];
    inner *= d.block_sizes[i];
    if (inner > (1 << 20)) return false;
  }
  __int128 last = inner - 1;
  for (size_t i = 0; i < rank; ++i) {
    if (d.dims[i] < 1 || d.dims[i] > kMost || d.padded[i] < d.dims[i] || d.padded[i] - d.dims[i] >= block[i] ||
        d.padded[i] % block[i] != 0 || d.strides[i] < 1 || d.strides[i] > kMost)
      return false;
    last += static_cast<__int128>(d.padded[i] / block[i] - 1) * d.strides[i];
  }
  if ((last + 1) * static_cast<__int128>(ElementBytes(type, 1)) > static_cast<__int128>(bytes)) return false;

  const std::optional<MemoryDesc> made = MakeDesc(d, type);
  if (!made) return false;
  *desc = *made;
  return true;
}

std::optional<AxisOrder> OrderOf(const Tensor& tensor) {
  if (tensor.layout) return tensor.layout->order;
  if (tensor.rank() > AxisOrder::kMostAxes) return std::nullopt;
  return AxisOrder::RowMajor(tensor.rank());
}

std::shared_ptr<const Layout> MakeLayout(const AxisOrder& order, ElementType type, std::span<const int64_t> dims) {
  if (order.row_major()) return nullptr;
  const dnnl::memory::dims sizes(dims.begin(), dims.end());
  if (order.block == 1) {
    const Dims strides = StridesOf(dims, order).axes;
    return MakeLayout(StridedDesc(type, sizes, dnnl::memory::dims(strides.begin(), strides.end())));
  }
  using Tag = dnnl::memory::format_tag;
  static constexpr Tag kTags[3][3] = {{Tag::aBc4b, Tag::aBcd4b, Tag::aBcde4b},
                                      {Tag::aBc8b, Tag::aBcd8b, Tag::aBcde8b},
                                      {Tag::aBc16b, Tag::aBcd16b, Tag::aBcde16b}};
  const size_t size = order.block == 4 ? 0 : order.block == 8 ? 1 : 2;
  if (order.rank < 3 || order.rank > 5 || order.block != 4 << size)
    NotImplemented("a layout of rank {} with blocks of {}", order.rank, order.block);
  return MakeLayout(MemoryDesc(sizes, DataType(type), kTags[size][order.rank - 3]));
}

}  // namespace epiphyte::cpu
