#pragma once

#include "schedule/plan.h"

namespace pipetrace {

/// A plan that can run to its end. Only a check makes one. So code that takes one (simulation,
/// transfers, executor) need not check again, and a plan is checked once.
///
/// Both constructors throw Error with what check() finds (its first 20 problems).
class CheckedPlan {
 public:
  /// Implicit: a plan that nobody else holds can be passed on as it is built.
  CheckedPlan(Plan&& plan);
  explicit CheckedPlan(const Plan& plan) : CheckedPlan(Plan(plan)) {}

  const Plan& operator*() const { return plan_; }
  const Plan* operator->() const { return &plan_; }

 private:
  Plan plan_;
};

}  // namespace pipetrace
