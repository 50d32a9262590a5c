#include "plugins/npu/simulator/isa/encoding.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "plugins/npu/simulator/isa/footprint.h"

namespace epiphyte::npusim {
namespace {

// The fields of each command in stream order. No other code knows this order.
template <typename A, typename T>
requires std::is_base_of_v<Transfer, std::remove_const_t<T>>
void Fields(A& a, T& c) {
  a(c.region, c.external_offset, c.scratchpad_offset, c.run, c.count, c.external_stride, c.scratchpad_stride);
}

template <typename A, typename T>
requires std::is_same_v<Window, std::remove_const_t<T>>
void Fields(A& a, T& c) { a(c.height, c.width, c.stride_y, c.stride_x, c.dilation_y, c.dilation_x, c.pad_y, c.pad_x); }

template <typename A, typename T>
requires std::is_same_v<FillCommand, std::remove_const_t<T>>
void Fields(A& a, T& c) { a(c.offset, c.element_size, c.value, c.count, c.stride); }

template <typename A, typename T>
requires std::is_same_v<ConvCommand, std::remove_const_t<T>>
void Fields(A& a, T& c) {
  a(c.x_offset, c.x_row_stride, c.x_pixel_stride, c.height, c.width, c.in_channels, c.x_type, c.x_zero_point,
    c.w_offset, c.w_row_stride, c.w_type, c.w_zero_point, c.w_zero_points_offset);
  Fields(a, c.window);
  a(c.accumulator, c.accumulator_pixel_stride, c.accumulator_row_stride, c.out_height, c.out_width, c.out_channels,
    c.accumulate, c.depthwise, c.per_channel_zero_points);
}

template <typename A, typename T>
requires std::is_same_v<PostCommand, std::remove_const_t<T>>
void Fields(A& a, T& c) {
  a(c.accumulator, c.accumulator_pixel_stride, c.accumulator_row_stride, c.height, c.width, c.channels, c.table_offset,
    c.y_offset, c.y_row_stride, c.y_pixel_stride, c.y_type, c.y_zero_point, c.low, c.high, c.lookup, c.lookup_offset);
}

template <typename A, typename T>
requires std::is_same_v<ElementwiseCommand, std::remove_const_t<T>>
void Fields(A& a, T& c) {
  a(c.kind, c.a_offset, c.b_offset, c.y_offset, c.count, c.a_stride, c.b_stride, c.y_stride, c.a_type, c.b_type,
    c.y_type, c.a_zero_point, c.b_zero_point, c.y_zero_point, c.a_multiplier, c.b_multiplier, c.shift, c.low, c.high);
}

template <typename A, typename T>
requires std::is_same_v<PoolCommand, std::remove_const_t<T>>
void Fields(A& a, T& c) {
  a(c.average, c.divisor, c.x_offset, c.x_row_stride, c.x_pixel_stride, c.height, c.width, c.channels, c.x_type,
    c.x_zero_point);
  Fields(a, c.window);
  a(c.y_offset, c.y_row_stride, c.y_pixel_stride, c.out_height, c.out_width, c.y_type, c.y_zero_point, c.multiplier,
    c.shift, c.low, c.high);
}

template <typename A, typename T>
requires std::is_same_v<LookupCommand, std::remove_const_t<T>>
void Fields(A& a, T& c) {
  a(c.x_offset, c.y_offset, c.table_offset, c.rows, c.columns, c.x_row_stride, c.y_row_stride, c.y_element_size);
}

template <typename A, typename T>
requires std::is_same_v<SoftmaxCommand, std::remove_const_t<T>>
void Fields(A& a, T& c) {
  a(c.x_offset, c.y_offset, c.rows, c.columns, c.x_row_stride, c.y_row_stride, c.x_type, c.y_type,
    c.exponentials_offset, c.inverse_scale, c.y_zero_point, c.low, c.high);
}

template <typename A, typename T>
requires std::is_same_v<LayerNormCommand, std::remove_const_t<T>>
void Fields(A& a, T& c) {
  a(c.x_offset, c.y_offset, c.rows, c.columns, c.x_row_stride, c.y_row_stride, c.x_type, c.y_type, c.scale_offset,
    c.bias_offset, c.epsilon, c.y_zero_point, c.low, c.high);
}

template <typename A, typename T>
requires std::is_same_v<ResizeCommand, std::remove_const_t<T>>
void Fields(A& a, T& c) {
  a(c.x_offset, c.x_row_stride, c.x_pixel_stride, c.height, c.width, c.channels, c.x_type, c.x_zero_point,
    c.rows_offset, c.columns_offset, c.y_offset, c.y_row_stride, c.y_pixel_stride, c.out_height, c.out_width, c.y_type,
    c.y_zero_point, c.multiplier, c.shift, c.low, c.high);
}

class Writer {
 public:
  explicit Writer(std::vector<std::byte>& out) : out_(out) {}
  template <typename... T>
  void operator()(const T&... values) {
    (Put(values), ...);
  }

 private:
  void Word(uint32_t word) {
    for (int i = 0; i < 4; ++i) out_.push_back(static_cast<std::byte>(word >> (8 * i)));
  }
  template <typename T>
  requires std::is_enum_v<T> ||(std::is_integral_v<T> && sizeof(T) <= 4) void Put(T value) {
    Word(static_cast<uint32_t>(value));
  }
  void Put(uint64_t value) {
    Word(static_cast<uint32_t>(value));
    Word(static_cast<uint32_t>(value >> 32));
  }
  void Put(double value) { Put(std::bit_cast<uint64_t>(value)); }
  template <typename T, size_t N>
  void Put(const std::array<T, N>& values) {
    for (const T& value : values) Put(value);
  }

  std::vector<std::byte>& out_;
};

class Reader {
 public:
  Reader(const std::byte* at) : at_(at) {}
  template <typename... T>
  void operator()(T&... values) {
    (Get(values), ...);
  }

 private:
  uint32_t Word() {
    uint32_t word = 0;
    for (int i = 0; i < 4; ++i) word |= static_cast<uint32_t>(at_[i]) << (8 * i);
    at_ += 4;
    return word;
  }
  template <typename T>
  requires std::is_enum_v<T> ||(std::is_integral_v<T> && sizeof(T) <= 4) void Get(T& value) {
    const uint32_t word = Word();
    value = static_cast<T>(word);
    if (static_cast<uint32_t>(value) != word) throw std::out_of_range("a number of 8 bits");
  }
  void Get(uint64_t& value) {
    const uint64_t low = Word();
    value = low | static_cast<uint64_t>(Word()) << 32;
  }
  void Get(double& value) {
    uint64_t bits = 0;
    Get(bits);
    value = std::bit_cast<double>(bits);
  }
  template <typename T, size_t N>
  void Get(std::array<T, N>& values) {
    for (T& value : values) Get(value);
  }

  const std::byte* at_;
};

constexpr size_t kHeaderWords = 2 + kQueueCount;

template <size_t I>
void DecodeWork(Reader& reader, QuantizedOp& work) {
  Fields(reader, work.emplace<I>());
}

template <size_t I>
size_t CountWords() {
  std::vector<std::byte> bytes;
  Writer writer(bytes);
  const std::variant_alternative_t<I, QuantizedOp> work{};
  Fields(writer, work);
  return kHeaderWords + bytes.size() / 4;
}

template <size_t... I>
size_t WordsOf(size_t opcode, std::index_sequence<I...>) {
  static const std::array<size_t, sizeof...(I)> words = {CountWords<I>()...};
  return words[opcode];
}

template <size_t... I>
void DecodeAny(size_t opcode, Reader& reader, QuantizedOp& work, std::index_sequence<I...>) {
  using Decoder = void (*)(Reader&, QuantizedOp&);
  static constexpr Decoder kDecoders[] = {&DecodeWork<I>...};
  kDecoders[opcode](reader, work);
}

using Opcodes = std::make_index_sequence<std::variant_size_v<QuantizedOp>>;

}  // namespace

void Encode(const Command& command, std::vector<std::byte>& stream) {
  const auto opcode = static_cast<uint32_t>(command.work.index());
  Writer writer(stream);
  writer(opcode | static_cast<uint32_t>(command.queue) << 8 | static_cast<uint32_t>(WordsOf(opcode, Opcodes())) << 16,
         command.op, command.wait);
  std::visit([&](const auto& work) { Fields(writer, work); }, command.work);
}

// Number of commands before the first one with an invalid size.
size_t CountCommands(std::span<const std::byte> stream) {
  size_t count = 0;
  for (size_t at = 0; stream.size() - at >= kHeaderWords * 4; ++count) {
    const auto opcode = static_cast<size_t>(stream[at]);
    if (opcode >= std::variant_size_v<QuantizedOp>) break;
    const size_t words = WordsOf(opcode, Opcodes());
    if (words * 4 > stream.size() - at) break;
    at += words * 4;
  }
  return count;
}

std::vector<Command> Decode(std::span<const std::byte> stream) {
  std::vector<Command> program;
  program.reserve(CountCommands(stream));
  size_t at = 0;
  const auto bad = [&](const std::string& what) {
    return BadProgram("command " + std::to_string(program.size()) + ": " + what);
  };
  while (at < stream.size()) {
    if (stream.size() - at < kHeaderWords * 4) throw bad("the stream ends within its head");
    const auto opcode = static_cast<size_t>(stream[at]);
    const auto queue = static_cast<uint8_t>(stream[at + 1]);
    const size_t words = static_cast<size_t>(stream[at + 2]) | static_cast<size_t>(stream[at + 3]) << 8;
    if (opcode >= std::variant_size_v<QuantizedOp>) throw bad("opcode " + std::to_string(opcode) + " is not known");
    if (queue >= kQueueCount) throw bad("there is no queue " + std::to_string(queue));
    if (words != WordsOf(opcode, Opcodes())) {
      throw bad("has " + std::to_string(words) + " words, expected " + std::to_string(WordsOf(opcode, Opcodes())));
    }
    if (stream.size() - at < words * 4) throw bad("the stream ends within it");
    Command& command = program.emplace_back();
    command.queue = static_cast<Queue>(queue);
    Reader reader(stream.data() + at + 4);
    reader(command.op, command.wait);
    try {
      DecodeAny(opcode, reader, command.work, Opcodes());
    } catch (const std::out_of_range& e) {
      throw BadProgram("command " + std::to_string(program.size() - 1) + ": a field isn't " + e.what());
    }
    at += words * 4;
  }
  return program;
}

}  // namespace epiphyte::npusim
