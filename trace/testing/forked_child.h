#pragma once

/// Skips a test that forks while another thread runs, where its child may wait for ever: in the
/// child AddressSanitizer's allocator may stay locked. The C library's allocator is made for this.
#ifdef __SANITIZE_ADDRESS__
#define SKIP_WHERE_A_CHILD_MAY_NOT_ALLOCATE() \
  GTEST_SKIP() << "AddressSanitizer's allocator may be locked in a forked child"
#else
#define SKIP_WHERE_A_CHILD_MAY_NOT_ALLOCATE() static_cast<void>(0)
#endif
