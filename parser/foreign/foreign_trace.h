#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "parser/foreign/chrome_process.h"
#include "parser/foreign/kineto_trace.h"
#include "parser/foreign/names/foreign_names.h"
#include "parser/trace_reader.h"
#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Another program's Chrome trace after reading. The code that knows the program then gives each
/// thread its rank and lane.
struct ForeignTrace {
  struct Process {
    const ChromeId* pid = nullptr;
    ChromeProcess* contents = nullptr;
    int rank = 0;  ///< of its counters
  };

  struct Lane {
    std::size_t process = 0;  ///< index in `processes`
    const ChromeId* tid = nullptr;
    ChromeProcess::Thread* thread = nullptr;
    int rank = 0;
    std::string name;
  };

  /// An arrow from a forward operator to its backward (`fwdbwd`).
  struct ForwardArrow {
    const ChromeProcess::Thread* from = nullptr;
    Nanoseconds begin = 0;
    const ChromeProcess::Thread* to = nullptr;
    Nanoseconds end = 0;
  };

  Timeline& timeline;  ///< holds the strings and arguments of the events
  const KinetoInfo& kineto;
  ForeignNames names;
  Diagnostics& diagnostics;
  const std::string& file;                 ///< names the input in diagnostics
  JobTime jobTime = JobTime::kAuto;        ///< see LoadOptions::jobTime
  int firstRank = 0;                       ///< the first that no other file has taken
  std::optional<int> nameRank;             ///< the rank of a file of one rank, by its name
  int threads = 1;                         ///< how many may work on it at once; 0: one per core
  std::vector<Process> processes;          ///< those with an event or a sample, in their order
  std::vector<Lane> lanes;                 ///< their threads with an event, in the same order
  std::deque<ChromeProcess::Thread> made;  ///< lanes that are no thread in the file
  std::vector<ForwardArrow> forwardArrows;
  RecordedProcess recorded;  ///< set by the code that knows the program

  /// The rank of a trace of one rank that does not say which.
  int onlyRank() const { return nameRank.value_or(firstRank); }
};

/// Finds out by its content which program wrote a trace. Gives each lane and process of it a rank
/// and a name, and its events their kinds and numbers.
///
/// In a trace of an unknown program, processes are ranks in their order, and threads are lanes. The
/// only thread of a rank that holds compute jobs, and nothing else, is the compute lane.
void placeForeignTrace(ForeignTrace& trace);

/// Names the only lane of a rank that consists of jobs the compute lane.
void nameComputeLanes(ForeignTrace& trace);

}  // namespace pipetrace
