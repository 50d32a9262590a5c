// BasicRule: holds the name, level and operators of a rule, so that a rule's class contains only Apply.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "core/transform/transform.h"

namespace epiphyte::core {

class BasicRule : public RewriteRule {
 public:
  BasicRule(std::string_view name, std::vector<std::string_view> operators,
            TransformLevel level = TransformLevel::kBasic)
      : name_(name), operators_(std::move(operators)), level_(level) {}

  std::string_view name() const override { return name_; }
  TransformLevel level() const override { return level_; }
  std::vector<std::string_view> operators() const override { return operators_; }
  bool tells_history() const override { return true; }

 private:
  std::string_view name_;
  std::vector<std::string_view> operators_;
  TransformLevel level_;
};

}  // namespace epiphyte::core
