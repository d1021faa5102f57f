#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/starting_ranks/rank_environment.h"

namespace pipetrace {

/// The version of what follows.
inline constexpr int kHostProtocol = 1;
/// The agent's first line begins so. A remote shell may print anything before it.
inline constexpr const char* kAgentGreeting = "pipe-run agent ";

/// A line of JSON that pipe-run and the agent on another host send each other. Only those
/// fields mean something, and travel, that the kind has. An order is what home says, a word what an
/// agent says. Bytes of a file follow the line of kLog and kFile.
struct HostMessage {
  enum class Kind {
    kBeat,      ///< both, once a second: I am here
    kHello,     ///< word: protocol, version
    kPrepare,   ///< order: command, directory, environment, places, meets, port
    kPrepared,  ///< word: addresses and port where it meets the others, and token; text: the folder
                ///< of its logs
    kRefused,   ///< word: text says what cannot be done
    kReach,     ///< order: which of these addresses do you reach, where port says token?
    kReached,   ///< word: addresses
    kStart,     ///< order: address and port of the master; begin
    kSignal,    ///< order: number, to all ranks
    kLog,       ///< word: bytes of the log of rank
    kFile,      ///< word: bytes that follow those before in the file called name
    kEnded,     ///< word: rank has ended: succeeded, wasKilled, text
    kDone,      ///< word: all ranks have ended, and all of their files have been sent; warnings
    kBye        ///< order: all have been stored; end
  };

  Kind kind = Kind::kBeat;
  int protocol = 0;
  std::string version{};
  std::vector<std::string> command{};
  std::string directory{};
  std::vector<std::string> environment{};  ///< "NAME=value" each
  std::vector<RankPlace> places{};         ///< without master and log folder
  bool meets = false;                      ///< the first rank is there: choose the port
  std::vector<std::string> addresses{};
  int port = 0;
  std::string token{};
  std::string address{};
  int number = 0;
  int rank = 0;
  std::size_t bytes = 0;
  std::string name{};
  bool succeeded = false;
  bool wasKilled = false;
  std::string text{};
  std::vector<std::string> warnings{};
};

/// A line with its newline; that of a kHello begins with kAgentGreeting. Throws Error where a name
/// or a path is no UTF-8, which JSON cannot hold.
std::string toLine(const HostMessage& message);

/// Reads a line without its newline, and after the greeting. Throws Error for what is no message.
HostMessage readHostMessage(const std::string& line);

}  // namespace pipetrace
