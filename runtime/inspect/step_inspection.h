#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/job_kind.h"

namespace pipetrace {

/// A summary of the elements of a tensor.
struct TensorFigures {
  double mean = 0;
  double deviation = 0;  ///< the standard deviation of all its elements, divided by their number
  double least = 0;
  double greatest = 0;
};

/// The figures of a tensor: four doubles on its device, in the order of TensorFigures. They are
/// queued on the thread's stream, and nobody waits for them. fp16 and bf16 are summed up in fp32,
/// integers and truth values in fp64. Undefined for a tensor without elements, or of complex
/// numbers. An element that is no number makes all four so.
at::Tensor queueFigures(const at::Tensor& tensor);

/// The norm of a gradient, the root of the sum of its squares: a double, as above.
at::Tensor queueNorm(const at::Tensor& gradient);

/// Activations or gradients that a stage of a rank has made for another one.
struct SentTensor {
  JobKind kind = JobKind::kSendForward;  ///< or kSendBackward
  int stage = 0;
  int toStage = 0;     ///< on the same rank, it stays there
  int microBatch = 0;  ///< of the replica
  std::vector<std::int64_t> shape;
  c10::ScalarType type = c10::ScalarType::Float;
  std::optional<TensorFigures> figures;  ///< as queueFigures() has them
};

/// How long the gradient of a parameter is, as a vector. Empty: it has none.
struct GradientNorm {
  int stage = 0;
  std::string parameter;         ///< "3.weight": block of the model and name
  std::optional<double> before;  ///< before the first backward of its stage in the step
  std::optional<double> after;   ///< after the last one
};

/// All that was seen of a rank's step, in the order in which it came. Gradients are those of the
/// rank alone: before those of other ranks and of tied parameters are added, and with the loss
/// scale.
struct StepInspection {
  int step = 0;
  double lossScale = 1;
  std::vector<SentTensor> sent;
  std::vector<GradientNorm> gradients;
};

}  // namespace pipetrace
