#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/control/control_channel.h"
#include "runtime/transport/transport.h"

namespace pipetrace::testing {

/// Runs `body(rank)` on a thread per rank and waits for all. Returns the text of each rank's error,
/// "" for none.
std::vector<std::string> runRanks(int ranks, const std::function<void(int rank)>& body);

/// runRanks() that throws Error with the first text that is not empty.
void runRanksOrThrow(int ranks, const std::function<void(int rank)>& body);

/// How a group of ranks in this process is connected.
enum class Wiring { kInProcess, kGloo };

/// runRanks() with a transport for each rank, which is destroyed when its body has ended.
std::vector<std::string> runConnected(Wiring wiring, int ranks,
                                      const std::function<void(Transport& transport)>& body);

/// The same with a control channel for each rank, which lets this process live on after a stall.
std::vector<std::string> runControlled(
    Wiring wiring, int ranks, ControlOptions control,
    const std::function<void(Transport& transport, ControlChannel& control)>& body);

}  // namespace pipetrace::testing
