# Lanes and mailboxes stand apart from the rest of runtime: they need no LibTorch.
pipetrace_library(
  lanes
  SOURCES lanes/bell.cpp lanes/header_check.cpp lanes/message_header.cpp lanes/message_key.cpp
          lanes/rank_group.cpp lanes/rank_threads.cpp lanes/tensor_shape.cpp
  PUBLIC pipetrace::trace Threads::Threads)

pipetrace_test(
  lanes_test
  SOURCES lanes/local_lanes_test.cpp lanes/mailbox_test.cpp lanes/message_key_test.cpp lanes/rank_threads_test.cpp testing/count_allocations.cpp
  LINK pipetrace::lanes
  LABELS threads)
