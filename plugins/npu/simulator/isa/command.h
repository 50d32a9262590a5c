// The NPU's commands. A program is one list of them; each names the queue that executes it. The three queues (load,
// execute, store) work in order, each on its own, and side by side. What one must not overtake in another it says by
// tokens: every finished command of a queue gives a token with its number in that queue (from 1), and a command starts
// only when it has seen the tokens that it waits for.
//
//   Command load{Queue::kLoad, LoadCommand{...}};            // number 1 of the load queue
//   Command conv{Queue::kExecute, ConvCommand{...}};
//   conv.wait[kLoad] = 1;                                     // after the load
//   conv.op = 3;                                              // belongs to operator 3, for traces
//
// A token must come from a command that stands earlier in the list: so a program cannot block, and executing the list
// from its first command to its last is one of the orders that the queues allow. The compiler must see to it that all
// allowed orders give the same (device/race.h finds those that don't).
//
// Memories. External memory has regions: weights (read only), scratch, each input, each output. Commands other than
// LOAD and STORE see only the scratchpad (bytes) and the accumulators (32-bit words, which wrap around). All offsets
// and strides are in bytes but those of accumulators, which are in words; sizes and strides of elements follow types.
// Images lie as [rows][pixels][channels], channels contiguous.
#pragma once

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

namespace epiphyte::npusim {

enum Queue : uint8_t { kLoad = 0, kExecute = 1, kStore = 2 };
inline constexpr int kQueueCount = 3;

// External regions. kInputs + i is input i of the graph, kOutputs + i output i.
enum Region : uint32_t { kWeights = 0, kScratch = 1, kInputs = 0x1000, kOutputs = 0x2000 };

enum class Type : uint8_t { kInt8 = 1, kUint8 = 2, kInt16 = 3, kUint16 = 4, kInt32 = 5 };  // numbers of NsdkType

constexpr uint32_t TypeSize(Type type) {
  return type == Type::kInt32 ? 4 : type == Type::kInt16 || type == Type::kUint16 ? 2 : 1;
}

// A transfer between external memory and the scratchpad (LOAD: in the load queue; STORE: in the store queue). A run of
// contiguous bytes, in up to five nested loops, the first of them the outermost. Loops that aren't used have count 1.
struct Transfer {
  uint32_t region = kWeights;
  uint64_t external_offset = 0;
  uint32_t scratchpad_offset = 0;
  uint32_t run = 0;  // bytes, at least 1
  std::array<uint32_t, 5> count{1, 1, 1, 1, 1};
  std::array<int32_t, 5> external_stride{};  // may be negative
  std::array<int32_t, 5> scratchpad_stride{};
};
struct LoadCommand : Transfer {};
struct StoreCommand : Transfer {};

// Writes one value over and over, in the load or the execute queue: zero points as padding, for instance.
struct FillCommand {
  uint32_t offset = 0;
  uint32_t element_size = 1;  // 1, 2, 4
  uint32_t value = 0;         // its lower bytes
  std::array<uint32_t, 4> count{1, 1, 1, 1};
  std::array<int32_t, 4> stride{};
};

// A window that goes over an image tile. Row y of the result begins at image row y * stride_y - pad_y; what lies beyond
// the tile is padding. pad_y and pad_x may be negative (the window begins inside the tile).
struct Window {
  uint32_t height = 1, width = 1;  // of the kernel
  uint32_t stride_y = 1, stride_x = 1;
  uint32_t dilation_y = 1, dilation_x = 1;
  int32_t pad_y = 0, pad_x = 0;
};

// accumulator[y][x][o] (+)= sum over kernel and channels of (image - x_zero_point) * (weight - w_zero_point[o]).
// Padding counts as x_zero_point. A matrix product of A [m][k] and B [k][n] is the one with image [1][m][k] and weights
// [k][n].
struct ConvCommand {
  uint32_t x_offset = 0;
  uint32_t x_row_stride = 0, x_pixel_stride = 0;
  uint32_t height = 1, width = 1, in_channels = 1;  // of the image tile
  Type x_type = Type::kInt8;                        // 8 bits
  int32_t x_zero_point = 0;
  uint32_t w_offset = 0;      // [kernel height][kernel width][in_channels][out_channels], contiguous but for:
  uint32_t w_row_stride = 0;  // bytes from an input channel to the next
  Type w_type = Type::kInt8;  // 8 bits
  int32_t w_zero_point = 0;
  uint32_t w_zero_points_offset = 0;  // with per_channel_zero_points: int32 [out_channels] in the scratchpad
  Window window;
  uint32_t accumulator = 0;  // first word
  uint32_t accumulator_pixel_stride = 0, accumulator_row_stride = 0;
  uint32_t out_height = 1, out_width = 1, out_channels = 1;
  uint8_t accumulate = 0;  // 1: adds to what the accumulators hold; 0: overwrites it
  uint8_t depthwise = 0;  // 1: out channel o of input channel o alone; weights [kernel height][kernel width][channels],
                          // in_channels == out_channels, w_row_stride from a kernel position to the next
  uint8_t per_channel_zero_points = 0;
};

// y = lookup(clamp(y_zero_point + Rescale(accumulator + bias[o], factor[o]), low, high)), from the accumulators to the
// scratchpad; in the execute queue, or in the store queue beside the array's work.
struct PostCommand {
  uint32_t accumulator = 0;
  uint32_t accumulator_pixel_stride = 0, accumulator_row_stride = 0;
  uint32_t height = 1, width = 1, channels = 1;
  uint32_t table_offset = 0;  // ChannelFactor [channels] in the scratchpad; 4-byte aligned
  uint32_t y_offset = 0;
  uint32_t y_row_stride = 0, y_pixel_stride = 0;
  Type y_type = Type::kInt8;
  int32_t y_zero_point = 0;
  int32_t low = -128, high = 127;  // in the type's range; of y before the lookup
  uint8_t lookup = 0;              // 1: y (8 bits) goes through a table [256] of bytes at lookup_offset
  uint32_t lookup_offset = 0;
};
struct ChannelFactor {  // as it lies in weights and scratchpad: little endian, 12 bytes
  int32_t bias = 0;
  int32_t multiplier = 0;  // FixedPoint
  int32_t shift = 1;
};

enum class Elementwise : uint8_t { kAdd = 1, kMul = 2, kMaximum = 3, kMinimum = 4, kRescale = 5 };

// Elements of up to five loops, the first of them the outermost; a stride of 0 broadcasts. With A = (a - a_zero_point)
// and B = (b - b_zero_point), and one shift for both (ToFixedPointPair):
//   kAdd A * a_multiplier + B * b_multiplier (subtraction: a negative multiplier) · kMaximum, kMinimum of the same two
//   · kRescale A * a_multiplier · kMul A * B * a_multiplier (of 30 bits)
// y = clamp(y_zero_point + RoundShift(that, shift), low, high). Types of 8 and 16 bits, each its own. y may lie where a
// or b does when it has the same strides and element size.
struct ElementwiseCommand {
  Elementwise kind = Elementwise::kAdd;
  uint32_t a_offset = 0, b_offset = 0, y_offset = 0;
  std::array<uint32_t, 5> count{1, 1, 1, 1, 1};
  std::array<int32_t, 5> a_stride{}, b_stride{}, y_stride{};
  Type a_type = Type::kInt8, b_type = Type::kInt8, y_type = Type::kInt8;
  int32_t a_zero_point = 0, b_zero_point = 0, y_zero_point = 0;
  int32_t a_multiplier = 0, b_multiplier = 0, shift = 1;
  int32_t low = -128, high = 127;
};

// Pools of an image tile. Padding is never looked at; average: sum of (x - x_zero_point) by divisor, or by the number
// of elements within the tile, of rows and columns [-begin, size + end) when count_pads.
// y = clamp(y_zero_point + round(value * multiplier / 2^shift / divisor), low, high), halves upwards.
struct PoolCommand {
  uint8_t average = 0;   // 0: maximum
  uint32_t divisor = 0;  // of averages; 0: how many elements of the window lie within the tile
  uint32_t x_offset = 0, x_row_stride = 0, x_pixel_stride = 0;
  uint32_t height = 1, width = 1, channels = 1;
  Type x_type = Type::kInt8;
  int32_t x_zero_point = 0;
  Window window;  // height * width at most 16,384
  uint32_t y_offset = 0, y_row_stride = 0, y_pixel_stride = 0;
  uint32_t out_height = 1, out_width = 1;
  Type y_type = Type::kInt8;
  int32_t y_zero_point = 0;
  int32_t multiplier = 0, shift = 1;  // FixedPoint
  int32_t low = -128, high = 127;
};

// y[i][j] = table[x[i][j] as an unsigned byte]; elements of a row are contiguous.
struct LookupCommand {
  uint32_t x_offset = 0, y_offset = 0, table_offset = 0;
  uint32_t rows = 1, columns = 1;
  uint32_t x_row_stride = 0, y_row_stride = 0;
  uint32_t y_element_size = 1;  // 1, 2, 4; of the table's 256 elements, too
};

// Over rows of contiguous bytes (8 bits in, 8 bits out). exponentials: uint32 [256] in the scratchpad, 4-byte aligned,
// element d is exp(-d * x_scale) * 2^24, rounded. y = clamp(y_zero_point + round(e / sum of e * inverse_scale / 2^16)),
// inverse_scale = round(2^16 / y_scale), below 2^32. columns at most 2^20.
struct SoftmaxCommand {
  uint32_t x_offset = 0, y_offset = 0;
  uint32_t rows = 1, columns = 1;
  uint32_t x_row_stride = 0, y_row_stride = 0;
  Type x_type = Type::kInt8, y_type = Type::kInt8;
  uint32_t exponentials_offset = 0;
  uint32_t inverse_scale = 0;
  int32_t y_zero_point = 0;
  int32_t low = -128, high = 127;
};

// Over rows of contiguous elements (8 or 16 bits): y = clamp(y_zero_point + round(((x - mean) / sqrt(variance +
// epsilon) * scale[j] + bias[j]))), where scale and bias are float32 [columns] in the scratchpad, 4-byte aligned,
// already divided by y's scale, mean and variance are of quantised numbers, and epsilon is by x_scale^2.
struct LayerNormCommand {
  uint32_t x_offset = 0, y_offset = 0;
  uint32_t rows = 1, columns = 1;
  uint32_t x_row_stride = 0, y_row_stride = 0;
  Type x_type = Type::kInt8, y_type = Type::kInt8;
  uint32_t scale_offset = 0, bias_offset = 0;
  double epsilon = 0;  // finite, not negative
  int32_t y_zero_point = 0;
  int32_t low = -128, high = 127;
};

// Each row and each column of the result is of two of the image tile (8 bits). Tables in the scratchpad, 4-byte
// aligned: ResizeSource [out_height] and [out_width].
struct ResizeCommand {
  uint32_t x_offset = 0, x_row_stride = 0, x_pixel_stride = 0;
  uint32_t height = 1, width = 1, channels = 1;
  Type x_type = Type::kInt8;
  int32_t x_zero_point = 0;
  uint32_t rows_offset = 0, columns_offset = 0;
  uint32_t y_offset = 0, y_row_stride = 0, y_pixel_stride = 0;
  uint32_t out_height = 1, out_width = 1;
  Type y_type = Type::kInt8;
  int32_t y_zero_point = 0;
  int32_t multiplier = 0, shift = 1;  // FixedPoint
  int32_t low = -128, high = 127;
};
struct ResizeSource {  // little endian, 8 bytes. An index beyond the tile is taken as its last.
  uint16_t first = 0, second = 0;
  uint32_t fraction = 0;  // of second, 0 to 2^14 (more is taken as 2^14); the rest is of first. Nearest: 0
};

using QuantizedOp = std::variant<LoadCommand, StoreCommand, FillCommand, ConvCommand, PostCommand, ElementwiseCommand,
                                 PoolCommand, LookupCommand, SoftmaxCommand, LayerNormCommand, ResizeCommand>;

struct Command {
  Queue queue = kExecute;
  QuantizedOp work;
  std::array<uint32_t, kQueueCount> wait{};  // by Queue: the number of the token to wait for; 0: none
  uint32_t op = 0;                           // the graph's operator that it belongs to
};

const char* CommandName(const QuantizedOp& work);

}  // namespace epiphyte::npusim
