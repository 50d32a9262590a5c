// The NPU's commands. A program is one list of commands; each names the queue that executes it. The three queues (load,
// execute, store) run side by side, each in order. Tokens order commands of different queues. Each finished command
// gives a token with its number in its queue (from 1). A command starts only after the tokens that it waits for.
//
//   Command load{Queue::kLoad, LoadCommand{...}};            // number 1 of the load queue
//   Command conv{Queue::kExecute, ConvCommand{...}};
//   conv.wait[kLoad] = 1;                                     // after the load
//   conv.op = 3;                                              // belongs to operator 3, for traces
//
// A token must come from an earlier command of the list. So a program cannot deadlock, and executing the list from
// first to last is one of the orders that the queues allow. The compiler must ensure that all allowed orders give the
// same results (device/race.h finds violations).
//
// Memories: external memory has the regions weights (read only), scratch, each input, and each output. Commands other
// than LOAD and STORE see only the scratchpad (bytes) and the accumulators (32-bit words, which wrap around). Offsets
// and strides are in bytes, those of accumulators in words; sizes and strides of elements follow their types. Images
// are [rows][pixels][channels], channels contiguous.
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

enum class Type : uint8_t { kInt8 = 1, kUint8 = 2, kInt16 = 3, kUint16 = 4, kInt32 = 5 };  // values of NsdkType

constexpr uint32_t TypeSize(Type type) {
  return type == Type::kInt32 ? 4 : type == Type::kInt16 || type == Type::kUint16 ? 2 : 1;
}

// A transfer between external memory and the scratchpad. LOAD runs in the load queue, STORE in the store queue. It
// moves runs of contiguous bytes in up to five nested loops, the first one outermost. Unused loops have count 1.
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

// Fills memory with one value, for example the zero point as padding. Runs in the load or the execute queue.
struct FillCommand {
  uint32_t offset = 0;
  uint32_t element_size = 1;  // 1, 2, 4
  uint32_t value = 0;         // only its lower element_size bytes are written
  std::array<uint32_t, 4> count{1, 1, 1, 1};
  std::array<int32_t, 4> stride{};
};

// A window that slides over an image tile. Row y of the result begins at image row y * stride_y - pad_y; everything
// outside the tile is padding. pad_y and pad_x may be negative, so that the window begins inside the tile.
struct Window {
  uint32_t height = 1, width = 1;  // kernel
  uint32_t stride_y = 1, stride_x = 1;
  uint32_t dilation_y = 1, dilation_x = 1;
  int32_t pad_y = 0, pad_x = 0;
};

// accumulator[y][x][o] (+)= sum over kernel and channels of (image - x_zero_point) * (weight - w_zero_point[o]).
// Padding counts as x_zero_point. The GEMM of A [m][k] and B [k][n] has image [1][m][k] and weights [k][n].
struct ConvCommand {
  uint32_t x_offset = 0;
  uint32_t x_row_stride = 0, x_pixel_stride = 0;
  uint32_t height = 1, width = 1, in_channels = 1;  // image tile
  Type x_type = Type::kInt8;                        // 8 bits
  int32_t x_zero_point = 0;
  uint32_t w_offset = 0;      // [kernel height][kernel width][in_channels][out_channels], contiguous except for:
  uint32_t w_row_stride = 0;  // bytes from an input channel to the next
  Type w_type = Type::kInt8;  // 8 bits
  int32_t w_zero_point = 0;
  uint32_t w_zero_points_offset = 0;  // with per_channel_zero_points: int32 [out_channels] in the scratchpad
  Window window;
  uint32_t accumulator = 0;  // first word
  uint32_t accumulator_pixel_stride = 0, accumulator_row_stride = 0;
  uint32_t out_height = 1, out_width = 1, out_channels = 1;
  uint8_t accumulate = 0;  // 1: adds to what the accumulators hold; 0: overwrites it
  // 1: output channel o is made from input channel o alone. Weights are [kernel height][kernel width][channels],
  // in_channels == out_channels, and w_row_stride leads from one kernel position to the next.
  uint8_t depthwise = 0;
  uint8_t per_channel_zero_points = 0;
};

// y = lookup(clamp(y_zero_point + Rescale(accumulator + bias[o], factor[o]), low, high)), from the accumulators to the
// scratchpad. Runs in the execute queue, or in the store queue beside the array's work.
struct PostCommand {
  uint32_t accumulator = 0;
  uint32_t accumulator_pixel_stride = 0, accumulator_row_stride = 0;
  uint32_t height = 1, width = 1, channels = 1;
  uint32_t table_offset = 0;  // ChannelFactor [channels] in the scratchpad; 4-byte aligned
  uint32_t y_offset = 0;
  uint32_t y_row_stride = 0, y_pixel_stride = 0;
  Type y_type = Type::kInt8;
  int32_t y_zero_point = 0;
  int32_t low = -128, high = 127;  // clamp of y before the lookup, in the type's range
  uint8_t lookup = 0;              // 1: y (8 bits) goes through a table [256] of bytes at lookup_offset
  uint32_t lookup_offset = 0;
};
struct ChannelFactor {  // in weights and scratchpad: little endian, 12 bytes
  int32_t bias = 0;
  int32_t multiplier = 0;  // FixedPoint
  int32_t shift = 1;
};

enum class Elementwise : uint8_t { kAdd = 1, kMul = 2, kMaximum = 3, kMinimum = 4, kRescale = 5 };

// An operation on the elements of up to five nested loops, the first of them the outermost. A stride of 0 broadcasts.
// With A = (a - a_zero_point) and B = (b - b_zero_point), and one shift for both (ToFixedPointPair), the kinds compute:
//   kAdd A * a_multiplier + B * b_multiplier (subtraction: a negative multiplier) · kMaximum, kMinimum of the same two
//   · kRescale A * a_multiplier · kMul A * B * a_multiplier (of 30 bits)
// y = clamp(y_zero_point + RoundShift(result of the kind, shift), low, high). Types have 8 or 16 bits and may differ. y
// may lie at the place of a or b if it has the same strides and element size.
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

// A pool over an image tile. Padding is never read. An average is the sum of (x - x_zero_point) divided by `divisor`.
// With divisor 0 it is divided by the number of the window's elements within the tile. y = clamp(y_zero_point +
// round(value * multiplier / 2^shift / divisor), low, high), halves upwards.
struct PoolCommand {
  uint8_t average = 0;   // 0: maximum
  uint32_t divisor = 0;  // averages only; 0: number of the window's elements within the tile
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
  uint32_t y_element_size = 1;  // 1, 2 or 4; size of the table's 256 elements, too
};

// Softmax over rows of contiguous bytes (8 bits in, 8 bits out). exponentials: uint32 [256] in the scratchpad, 4-byte
// aligned; element d is exp(-d * x_scale) * 2^24, rounded. y = clamp(y_zero_point + round(e / sum of e * inverse_scale
// / 2^16)), inverse_scale = round(2^16 / y_scale), below 2^32. columns at most 2^20.
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

// Layer normalisation over rows of contiguous elements (8 or 16 bits): y = clamp(y_zero_point + round(((x - mean) /
// sqrt(variance + epsilon) * scale[j] + bias[j]))). scale and bias are float32 [columns] in the scratchpad, 4-byte
// aligned, already divided by y's scale. mean and variance are those of the quantised numbers, and epsilon is already
// divided by x_scale^2.
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

// Each row and column of the result is interpolated from two of the image tile (8 bits). The tables are in the
// scratchpad, 4-byte aligned: ResizeSource [out_height] and [out_width].
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
struct ResizeSource {  // little endian, 8 bytes. An index beyond the tile is taken as the last one.
  uint16_t first = 0, second = 0;
  uint32_t fraction = 0;  // weight of second, 0 to 2^14 (more is taken as 2^14); first has the rest. Nearest: 0
};

using QuantizedOp = std::variant<LoadCommand, StoreCommand, FillCommand, ConvCommand, PostCommand, ElementwiseCommand,
                                 PoolCommand, LookupCommand, SoftmaxCommand, LayerNormCommand, ResizeCommand>;

struct Command {
  Queue queue = kExecute;
  QuantizedOp work;
  std::array<uint32_t, kQueueCount> wait{};  // by Queue: number of the token to wait for; 0: none
  uint32_t op = 0;                           // graph operator that the command belongs to
};

const char* CommandName(const QuantizedOp& work);

}  // namespace epiphyte::npusim
