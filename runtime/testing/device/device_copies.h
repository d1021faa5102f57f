#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

namespace pipetrace::test_device {

/// aten::_copy_from: copies to, from and between devices all come here.
at::Tensor copyFrom(const at::Tensor& source, const at::Tensor& target, bool nonBlocking);
at::Tensor copyFromAndResize(const at::Tensor& source, const at::Tensor& target);
/// aten::_local_scalar_dense: item() of a tensor. As on CUDA the host waits for the current stream.
at::Scalar itemOf(const at::Tensor& tensor);

}  // namespace pipetrace::test_device
