#pragma once

namespace pipetrace {

/// Has malloc keep freed memory for the next tensors. Otherwise each large tensor is memory that
/// the system maps, clears and unmaps, which costs a pipeline of small stages 5 to 15 % of a step.
/// The process then keeps the most memory that it ever had. Call it first thing in main(). It does
/// nothing where malloc is not glibc's.
void reuseFreedMemory();

}  // namespace pipetrace
