#include "host/conformance/operators/catalogue_arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core/base/error.h"

namespace epiphyte::operators {
namespace {

DataType TypeOf(const std::string& name) {
  for (int32_t type = 1; core::IsValidDataType(type); ++type)
    if (core::DataTypeName(static_cast<DataType>(type)) == name) return static_cast<DataType>(type);
  core::Fail(core::StatusCode::kInvalidArgument, "there is no type '{}'; types are named as in ONNX: float, int8",
             name);
}

Form FormOf(const std::string& name) {
  std::string names;
  for (const Form form : AllForms()) {
    if (NameOf(form) == name) return form;
    names += (names.empty() ? "" : ", ") + std::string(NameOf(form));
  }
  core::Fail(core::StatusCode::kInvalidArgument, "there is no form '{}'; there are {}", name, names);
}

}  // namespace

void CatalogueArguments::AddTo(CLI::App& app) {
  app.add_option("--cases", options_.cases, "cases of each form of each operator");
  app.add_option("--first", options_.first, "number of the first case");
  app.add_option("--operator", options_.operator_name, "only this operator: Conv, com.microsoft.Gelu");
  app.add_option("--type", type_, "only cases whose first input has this type: float16");
  app.add_option("--form", forms_, "only these forms of cases: plain,special,bad,hostile,quantized")->delimiter(',');
}

CatalogueOptions CatalogueArguments::Options() const {
  CatalogueOptions options = options_;
  if (!type_.empty()) options.type = TypeOf(type_);
  if (!forms_.empty()) options.forms.clear();
  for (const std::string& name : forms_) options.forms.push_back(FormOf(name));
  return options;
}

}  // namespace epiphyte::operators
