#include "plugins/vulkan/spirv/khr_matrices.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace epiphyte::vulkan {
namespace {

// Header positions, opcodes and capabilities of SPIR-V and of the two extensions.
constexpr uint32_t kMagic = 0x07230203;
constexpr size_t kHeaderWords = 5, kBound = 3;
constexpr uint32_t kOpExtension = 10, kOpCapability = 17, kOpConstantTrue = 41, kOpConstantFalse = 42, kOpConstant = 43;
constexpr uint32_t kNvCapability = 5357, kKhrCapability = 6022;
constexpr uint32_t kNvType = 5358, kKhrType = 4456;
constexpr uint32_t kNvLoad = 5359, kKhrLoad = 4457;
constexpr uint32_t kNvStore = 5360, kKhrStore = 4458;
constexpr uint32_t kNvMulAdd = 5361, kKhrMulAdd = 4459;
constexpr uint32_t kNvLength = 5362, kKhrLength = 4460;
constexpr std::string_view kNvExtension = "SPV_NV_cooperative_matrix", kKhrExtension = "SPV_KHR_cooperative_matrix";

enum Use : uint32_t { kLeft = 0, kRight = 1, kSum = 2 };
constexpr uint32_t kUses = 3;

using Words = std::span<const uint32_t>;

uint32_t Opcode(Words instruction) { return instruction[0] & 0xffff; }

std::vector<Words> InstructionsOf(Words module) {
  if (module.size() < kHeaderWords || module[0] != kMagic) throw std::runtime_error("it is no SPIR-V module");
  std::vector<Words> instructions;
  for (size_t at = kHeaderWords; at < module.size();) {
    const size_t size = module[at] >> 16;
    if (size == 0 || size > module.size() - at)
      throw std::runtime_error("the instruction at word " + std::to_string(at) + " does not end in the module");
    instructions.push_back(module.subspan(at, size));
    at += size;
  }
  return instructions;
}

void Expect(Words instruction, size_t least) {
  if (instruction.size() < least)
    throw std::runtime_error("an instruction " + std::to_string(Opcode(instruction)) + " has " +
                             std::to_string(instruction.size()) + " words, at least " + std::to_string(least) +
                             " are expected");
}

std::string TextOf(Words words) {
  std::string text(words.size_bytes(), '\0');
  std::memcpy(text.data(), words.data(), text.size());
  return text.substr(0, text.find('\0'));
}

class Translation {
 public:
  explicit Translation(Words module) : module_(module), instructions_(InstructionsOf(module)) {}

  std::vector<uint32_t> Translate() {
    Collect();
    made_.assign(module_.begin(), module_.begin() + kHeaderWords);
    if (!matrices_.empty()) made_[kBound] += kUses;
    for (const Words instruction : instructions_) Add(instruction);
    return std::move(made_);
  }

 private:
  struct Matrix {
    uint32_t rows = 0, columns = 0;  // ids of the constants that hold the sizes
  };

  void Collect() {
    for (const Words each : instructions_) {
      switch (Opcode(each)) {
        case kNvType:
          Expect(each, 6);
          matrices_[each[1]] = {each[4], each[5]};
          break;
        case kOpConstant:
          Expect(each, 4);
          type_of_constant_[each[2]] = each[1];
          break;
        case kOpConstantTrue:
        case kOpConstantFalse:
          Expect(each, 3);
          truths_[each[2]] = Opcode(each) == kOpConstantTrue;
          break;
        default: break;
      }
    }
  }

  Use UseOf(const Matrix& matrix) const {
    bool left = false, right = false;
    for (const auto& [id, other] : matrices_) {
      left = left || matrix.columns == other.rows;
      right = right || matrix.rows == other.columns;
    }
    if (left && right)
      throw std::runtime_error(
          "a cooperative matrix may be a left and a right operand: the three sizes of products need a "
          "constant each");
    return left ? kLeft : right ? kRight : kSum;
  }

  void Put(uint32_t opcode, std::initializer_list<uint32_t> operands, Words more = {}) {
    made_.push_back(opcode | static_cast<uint32_t>(1 + operands.size() + more.size()) << 16);
    made_.insert(made_.end(), operands);
    made_.insert(made_.end(), more.begin(), more.end());
  }

  // The id of a new constant with this value. There is one for each value of Use. Layouts use the same constants: 0 for
  // row major, 1 for column major.
  uint32_t ConstantOf(uint32_t value) const { return module_[kBound] + value; }

  uint32_t LayoutOf(uint32_t column_major) const {
    const auto found = truths_.find(column_major);
    if (found == truths_.end()) throw std::runtime_error("whether a matrix lies by columns is no constant");
    return ConstantOf(found->second ? 1 : 0);
  }

  void AddType(Words type) {
    // The new constants stand before the first matrix type. Their type is the integer type of the constant for the
    // matrix's scope, which the module has declared before.
    if (!has_constants_) {
      const auto scope = type_of_constant_.find(type[3]);
      if (scope == type_of_constant_.end()) throw std::runtime_error("the scope of a matrix is no constant");
      for (uint32_t value = 0; value < kUses; ++value) Put(kOpConstant, {scope->second, ConstantOf(value), value});
      has_constants_ = true;
    }
    Put(kKhrType, {type[1], type[2], type[3], type[4], type[5], ConstantOf(UseOf(matrices_.at(type[1])))});
  }

  void AddExtension(Words extension) {
    if (TextOf(extension.subspan(1)) != kNvExtension) return Put(kOpExtension, {}, extension.subspan(1));
    std::vector<uint32_t> words(kKhrExtension.size() / sizeof(uint32_t) + 1);
    std::memcpy(words.data(), kKhrExtension.data(), kKhrExtension.size());
    Put(kOpExtension, {}, words);
  }

  void Add(Words each) {
    switch (Opcode(each)) {
      case kOpExtension: return AddExtension(each);
      case kOpCapability:
        Expect(each, 2);
        return Put(kOpCapability, {each[1] == kNvCapability ? kKhrCapability : each[1]});
      case kNvType: return AddType(each);
      case kNvLoad:  // operands: type, result, pointer, stride, column major, memory access
        Expect(each, 6);
        return Put(kKhrLoad, {each[1], each[2], each[3], LayoutOf(each[5]), each[4]}, each.subspan(6));
      case kNvStore:  // operands: pointer, object, stride, column major, memory access
        Expect(each, 5);
        return Put(kKhrStore, {each[1], each[2], LayoutOf(each[4]), each[3]}, each.subspan(5));
      case kNvMulAdd: return Put(kKhrMulAdd, {}, each.subspan(1));
      case kNvLength: return Put(kKhrLength, {}, each.subspan(1));
      default: made_.insert(made_.end(), each.begin(), each.end());
    }
  }

  const Words module_;
  const std::vector<Words> instructions_;
  std::map<uint32_t, Matrix> matrices_;            // by the id of the matrix type
  std::map<uint32_t, uint32_t> type_of_constant_;  // by the id of the constant
  std::map<uint32_t, bool> truths_;                // by the id of the constant
  std::vector<uint32_t> made_;
  bool has_constants_ = false;
};

}  // namespace

std::vector<uint32_t> ToKhrMatrices(std::span<const uint32_t> module) { return Translation(module).Translate(); }

}  // namespace epiphyte::vulkan
