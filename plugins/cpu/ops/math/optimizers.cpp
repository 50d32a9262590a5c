// One step of an optimizer, as ai.onnx.preview.training defines it: Adagrad, Adam, Momentum.
//
// Inputs are R (learning rate) and T (number of previous steps). For n tensors, their values X1..Xn, gradients G1..Gn
// and one or two groups of accumulated state follow. Outputs are the new values and states, group by group.
#include <cmath>

#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/move.h"
#include "plugins/cpu/kernel/parameter.h"

namespace epiphyte::cpu {
namespace {

constexpr std::string_view kTrainingDomain = "ai.onnx.preview.training";

class OptimizerKernel : public Kernel {
 public:
  OptimizerKernel(const KernelInit& init, size_t states)
      : norm_(init.node().Float("norm_coefficient", 0)), states_(states) {}

  void Run(OpContext& context) const override {
    const size_t groups = 2 + states_;
    if (context.InputCount() < 2 + groups || (context.InputCount() - 2) % groups != 0)
      FailOp("{} inputs found, R, T and {} groups of tensors expected", context.InputCount(), groups);
    const size_t count = (context.InputCount() - 2) / groups;
    const double rate = RealParameter(context, 0, "R");
    const auto step = static_cast<double>(IntegerParameter(context, 1, "T"));
    for (size_t i = 0; i < count; ++i) {
      const Tensor& x = context.Input(2 + i);
      for (size_t group = 1; group < groups; ++group) {
        const Tensor& other = context.Input(2 + group * count + i);
        if (other.type != x.type || !(other.dims == x.dims))
          FailOp("input {} of type {} and shape {} found, {} of {} expected", 2 + group * count + i,
                 TypeName(other.type), ShapeText(other.dims), TypeName(x.type), ShapeText(x.dims));
      }
      Dispatch<float, double>(x.type, "an optimizer", [&]<typename T>() {
        const T* gradient = context.Input(2 + count + i).template as<T>();
        const T* state[2] = {};
        T* new_state[2] = {};
        T* new_x = context.Output(i, x.type, x.dims).template as<T>();
        for (size_t k = 0; k < states_; ++k) {
          state[k] = context.Input(2 + (2 + k) * count + i).template as<T>();
          new_state[k] = context.Output((1 + k) * count + i, x.type, x.dims).template as<T>();
        }
        const int64_t elements = x.Count();
        for (int64_t e = 0; e < elements; ++e) {
          Step s;
          s.x = static_cast<double>(x.as<T>()[e]);
          s.gradient = norm_ * s.x + static_cast<double>(gradient[e]);
          for (size_t k = 0; k < states_; ++k) s.state[k] = static_cast<double>(state[k][e]);
          Update(rate, step, s);
          new_x[e] = static_cast<T>(s.x);
          for (size_t k = 0; k < states_; ++k) new_state[k][e] = static_cast<T>(s.state[k]);
        }
      });
    }
  }

 protected:
  // One element; `gradient` already includes the regularisation.
  struct Step {
    double x = 0;
    double gradient = 0;
    double state[2] = {};
  };
  virtual void Update(double rate, double step, Step& s) const = 0;

 private:
  double norm_;
  size_t states_;
};

class AdagradKernel : public OptimizerKernel {
 public:
  explicit AdagradKernel(const KernelInit& init)
      : OptimizerKernel(init, 1),
        decay_(init.node().Float("decay_factor", 0)),
        epsilon_(init.node().Float("epsilon", 1e-6f)) {}

 private:
  void Update(double rate, double step, Step& s) const override {
    s.state[0] += s.gradient * s.gradient;
    s.x -= rate / (1 + step * decay_) * s.gradient / (std::sqrt(s.state[0]) + epsilon_);
  }
  double decay_;
  double epsilon_;
};

class AdamKernel : public OptimizerKernel {
 public:
  explicit AdamKernel(const KernelInit& init)
      : OptimizerKernel(init, 2),
        alpha_(init.node().Float("alpha", 0.9f)),
        beta_(init.node().Float("beta", 0.999f)),
        epsilon_(init.node().Float("epsilon", 1e-6f)),
        norm_post_(init.node().Float("norm_coefficient_post", 0)) {}

 private:
  void Update(double rate, double step, Step& s) const override {
    s.state[0] = alpha_ * s.state[0] + (1 - alpha_) * s.gradient;
    s.state[1] = beta_ * s.state[1] + (1 - beta_) * s.gradient * s.gradient;
    const double adjusted =
        step > 0 ? rate * std::sqrt(1 - std::pow(beta_, step)) / (1 - std::pow(alpha_, step)) : rate;
    s.x = (1 - norm_post_) * (s.x - adjusted * s.state[0] / (std::sqrt(s.state[1]) + epsilon_));
  }
  double alpha_;
  double beta_;
  double epsilon_;
  double norm_post_;
};

class MomentumKernel : public OptimizerKernel {
 public:
  explicit MomentumKernel(const KernelInit& init)
      : OptimizerKernel(init, 1), alpha_(init.node().Float("alpha", 0)), beta_(init.node().Float("beta", 0)) {
    const std::string mode = init.node().String("mode", "standard");
    if (mode != "standard" && mode != "nesterov") FailOp("mode '{}' found, standard or nesterov expected", mode);
    nesterov_ = mode == "nesterov";
  }

 private:
  void Update(double rate, double step, Step& s) const override {
    s.state[0] = alpha_ * s.state[0] + (step > 0 ? beta_ : 1) * s.gradient;
    s.x -= rate * (nesterov_ ? s.gradient + alpha_ * s.state[0] : s.state[0]);
  }
  double alpha_;
  double beta_;
  bool nesterov_;
};

}  // namespace

void Register_optimizers(KernelRegistry& registry) {
  registry.Add<AdagradKernel>("Adagrad", 1, kAnyType, INT64_MAX, kTrainingDomain);
  registry.Add<AdamKernel>("Adam", 1, kAnyType, INT64_MAX, kTrainingDomain);
  registry.Add<MomentumKernel>("Momentum", 1, kAnyType, INT64_MAX, kTrainingDomain);
}

}  // namespace epiphyte::cpu
