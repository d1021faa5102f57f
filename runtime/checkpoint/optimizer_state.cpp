#include "runtime/checkpoint/optimizer_state.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/scalar_tensor.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <memory>
#include <sstream>

#include "runtime/train/optimize/lamb.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

namespace optim = torch::optim;

// By kind of optimizer: its name, and what it keeps of a parameter. `visit` is called with the name
// of each field, the field, and whether the optimizer, with these options, fails without it.
struct SgdKind {
  using Optimizer = optim::SGD;
  using State = optim::SGDParamState;
  using Options = optim::SGDOptions;
  static constexpr const char* kName = "SGD";
  template <typename Visit>
  static void fields(State& state, const Options&, Visit visit) {
    visit("momentum_buffer", state.momentum_buffer(), true);  // there is no state without momentum
  }
};

template <typename TheOptimizer, typename TheState, typename TheOptions>
struct AdamKind {
  using Optimizer = TheOptimizer;
  using State = TheState;
  using Options = TheOptions;
  static constexpr const char* kName = std::is_same_v<TheOptimizer, optim::Adam> ? "Adam" : "AdamW";
  template <typename Visit>
  static void fields(State& state, const Options& options, Visit visit) {
    visit("step", state.step(), true);
    visit("exp_avg", state.exp_avg(), true);
    visit("exp_avg_sq", state.exp_avg_sq(), true);
    visit("max_exp_avg_sq", state.max_exp_avg_sq(), options.amsgrad());
  }
};

struct LambKind {
  using Optimizer = Lamb;
  using State = LambParamState;
  using Options = LambOptions;
  static constexpr const char* kName = "LAMB";
  template <typename Visit>
  static void fields(State& state, const Options&, Visit visit) {
    visit("step", state.step(), true);
    visit("exp_avg", state.exp_avg(), true);
    visit("exp_avg_sq", state.exp_avg_sq(), true);
  }
};

struct RmspropKind {
  using Optimizer = optim::RMSprop;
  using State = optim::RMSpropParamState;
  using Options = optim::RMSpropOptions;
  static constexpr const char* kName = "RMSprop";
  template <typename Visit>
  static void fields(State& state, const Options& options, Visit visit) {
    visit("step", state.step(), true);
    visit("square_avg", state.square_avg(), true);
    visit("momentum_buffer", state.momentum_buffer(), options.momentum() > 0);
    visit("grad_avg", state.grad_avg(), options.centered());
  }
};

struct AdagradKind {
  using Optimizer = optim::Adagrad;
  using State = optim::AdagradParamState;
  using Options = optim::AdagradOptions;
  static constexpr const char* kName = "Adagrad";
  template <typename Visit>
  static void fields(State& state, const Options&, Visit visit) {
    visit("step", state.step(), true);
    visit("sum", state.sum(), true);
  }
};

/// `body` with the kind of `optimizer`.
template <typename Body>
auto withKind(const optim::Optimizer& optimizer, Body body) {
  const auto isA = [&](auto kind) {
    return dynamic_cast<const typename decltype(kind)::Optimizer*>(&optimizer) != nullptr;
  };
  using Adam = AdamKind<optim::Adam, optim::AdamParamState, optim::AdamOptions>;
  using AdamW = AdamKind<optim::AdamW, optim::AdamWParamState, optim::AdamWOptions>;
  if (isA(SgdKind{})) return body(SgdKind{});
  if (isA(Adam{})) return body(Adam{});
  if (isA(AdamW{})) return body(AdamW{});
  if (isA(LambKind{})) return body(LambKind{});
  if (isA(RmspropKind{})) return body(RmspropKind{});
  if (isA(AdagradKind{})) return body(AdagradKind{});
  throw Error(
      "the state of this optimizer cannot be saved; SGD, Adam, AdamW, LAMB, RMSprop and Adagrad "
      "can");
}

/// The options of the group that the parameter is in; null: the optimizer does not have it.
const optim::OptimizerOptions* optionsOf(const optim::Optimizer& optimizer,
                                         const at::Tensor& parameter) {
  for (const optim::OptimizerParamGroup& group : optimizer.param_groups()) {
    for (const at::Tensor& one : group.params()) {
      if (one.is_same(parameter)) return &group.options();
    }
  }
  return nullptr;
}

at::Tensor asTensor(std::int64_t step) { return at::scalar_tensor(step, at::kLong); }
at::Tensor asTensor(const at::Tensor& tensor) { return tensor; }

void put(const at::Tensor& saved, const at::Tensor&, std::int64_t& step) {
  step = saved.item<std::int64_t>();
}
void put(const at::Tensor& saved, const at::Tensor& parameter, at::Tensor& tensor) {
  // As if it had been made by the optimizer: in the parameter's layout of memory.
  tensor = at::empty_like(parameter.variable_data(), parameter.options().dtype(saved.dtype()));
  tensor.copy_(saved);
}

const at::Tensor* find(const NamedTensors& tensors, const std::string& name) {
  for (const auto& [other, tensor] : tensors) {
    if (other == name) return &tensor;
  }
  return nullptr;
}

std::string shapeText(const at::Tensor& tensor) {
  std::ostringstream text;
  text << tensor.sizes();
  return text.str();
}

}  // namespace

std::string optimizerName(const torch::optim::Optimizer& optimizer) {
  return withKind(optimizer, [](auto kind) { return std::string(kind.kName); });
}

NamedTensors optimizerStateOf(const torch::optim::Optimizer& optimizer,
                              const at::Tensor& parameter) {
  return withKind(optimizer, [&](auto kind) {
    NamedTensors tensors;
    const auto found = optimizer.state().find(parameter.unsafeGetTensorImpl());
    if (found == optimizer.state().end()) return tensors;
    using Kind = decltype(kind);
    Kind::fields(static_cast<typename Kind::State&>(*found->second),
                 static_cast<const typename Kind::Options&>(optimizer.defaults()),
                 [&](const char* name, auto& field, bool) {
                   at::Tensor tensor = asTensor(field);
                   if (tensor.defined()) tensors.emplace_back(name, std::move(tensor));
                 });
    return tensors;
  });
}

void requireStateFits(const NamedTensors& state, const torch::optim::Optimizer& optimizer,
                      const at::Tensor& parameter, const std::string& who) {
  const optim::OptimizerOptions* const options = optionsOf(optimizer, parameter);
  if (options == nullptr) throw Error(who + " is none of the optimizer's parameters");
  withKind(optimizer, [&](auto kind) {
    using Kind = decltype(kind);
    const std::string name = Kind::kName;
    typename Kind::State made;
    std::vector<std::string> known;
    Kind::fields(
        made, static_cast<const typename Kind::Options&>(*options),
        [&](const char* fieldName, auto& field, bool isNeeded) {
          known.emplace_back(fieldName);
          const at::Tensor* const saved = find(state, fieldName);
          if (saved == nullptr) {
            if (!isNeeded || state.empty()) return;
            throw Error(who + " has no " + fieldName + " in the checkpoint, which " + name +
                        " needs with its options");
          }
          constexpr bool isNumber = std::is_same_v<std::decay_t<decltype(field)>, std::int64_t>;
          if (isNumber ? saved->numel() == 1 : saved->sizes() == parameter.sizes()) return;
          throw Error(who + " has the shape " + (isNumber ? "[1]" : shapeText(parameter)) +
                      ", and its " + fieldName + " in the checkpoint " + shapeText(*saved));
        });
    for (const auto& [fieldName, tensor] : state) {
      if (std::find(known.begin(), known.end(), fieldName) == known.end()) {
        throw Error(who + " has " + fieldName + " in the checkpoint, which " + name +
                    " does not keep: it was written with another optimizer");
      }
    }
  });
}

void putOptimizerState(const NamedTensors& state, torch::optim::Optimizer& optimizer,
                       const at::Tensor& parameter) {
  const at::NoGradGuard noGrad;
  void* const key = parameter.unsafeGetTensorImpl();
  if (state.empty()) {
    optimizer.state().erase(key);
    return;
  }
  withKind(optimizer, [&](auto kind) {
    using Kind = decltype(kind);
    auto made = std::make_unique<typename Kind::State>();
    Kind::fields(*made, static_cast<const typename Kind::Options&>(optimizer.defaults()),
                 [&](const char* name, auto& field, bool) {
                   const at::Tensor* const saved = find(state, name);
                   if (saved != nullptr) put(*saved, parameter, field);
                 });
    optimizer.state()[key] = std::move(made);
  });
}

}  // namespace pipetrace
