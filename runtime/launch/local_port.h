#pragma once

namespace pipetrace {

/// A TCP port of 127.0.0.1 on which nobody listens: `wanted`, or any for 0. Another process can
/// take it before it is used. Throws Error if `wanted` is taken or out of range.
int freeLocalPort(int wanted = 0);

}  // namespace pipetrace
