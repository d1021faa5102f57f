#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/control/verdict/verdict.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// Control threads tell each other these.
enum class ControlWord : std::uint8_t {
  kHello,     ///< who opens the connection; the first message on it
  kStatus,    ///< where I am in my plan; also says that I live
  kNoticed,   ///< something that ends the run
  kMissed,    ///< of which ranks I have not heard: somebody is silent
  kVerdict,   ///< what ended the run; I end, too
  kFinished,  ///< I am in finish()
  kBye,       ///< I leave, because all have finished
};

/// One message. Which fields count depends on `word`.
struct ControlMessage {
  ControlWord word = ControlWord::kStatus;
  int rank = -1;            ///< who speaks; not given (-1): the other side of the connection
  std::string token;        ///< kHello: what the address of the other side says
  ActionStatus status;      ///< kStatus, kFinished
  FailureCause cause;       ///< kNoticed, kVerdict
  Nanoseconds noticed = 0;  ///< kNoticed: for how long the speaker has known it
  std::vector<int> missed;  ///< kMissed: may be empty
};

/// The message as bytes, its length first.
std::string encode(const ControlMessage& message);

/// Takes the first message off `bytes`. Returns nothing while it is not complete. Throws Error for
/// bytes that are no message.
std::optional<ControlMessage> takeMessage(std::string& bytes);

}  // namespace pipetrace
