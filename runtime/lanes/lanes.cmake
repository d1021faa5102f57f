# Lanes and mailboxes stand apart from the rest of runtime: they need no LibTorch.
pipetrace_library(
  lanes
  FROM "^lanes/"
  PUBLIC pipetrace::trace Threads::Threads)

pipetrace_test(
  lanes_test SANITIZED
  FROM "^lanes/"
  ALSO testing/count_allocations.cpp
  LINK pipetrace::lanes
  LABELS threads)
