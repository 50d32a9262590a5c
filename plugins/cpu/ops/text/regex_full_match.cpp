// RegexFullMatch.
#include "plugins/cpu/kernel/move.h"
#include "plugins/cpu/text/regex.h"

namespace epiphyte::cpu {
namespace {

class RegexFullMatchKernel : public Kernel {
 public:
  explicit RegexFullMatchKernel(const KernelInit& init) : regex_(init.node().String("pattern", "")) {}
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.type != EP_TYPE_STRING) FailOp("input of type {} found, strings expected", TypeName(x.type));
    bool* matches = context.Output(0, EP_TYPE_BOOL, x.dims).as<bool>();
    for (const std::string& text : *x.strings) *matches++ = regex_.FullMatch(text);
  }

 private:
  Regex regex_;
};

}  // namespace

void Register_regex_full_match(KernelRegistry& registry) { registry.Add<RegexFullMatchKernel>("RegexFullMatch"); }

}  // namespace epiphyte::cpu
