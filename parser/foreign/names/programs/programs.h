#pragma once

#include <span>
#include <string_view>

#include "trace/job_kind.h"

namespace pipetrace {

struct ForeignTrace;

/// Whether a name is known without the preset of its program.
enum class NameUse {
  kAlways,    ///< no other program gives the name another meaning
  kInPreset,  ///< it means something else elsewhere, or other names of a trace count first
};

/// Some names of a program's jobs: a regular expression for a whole name, with the groups that
/// NamePattern knows. The kind kOther keeps a name from being taken for a job.
struct NameRow {
  const char* pattern;
  JobKind kind;
  NameUse use = NameUse::kInPreset;
};

/// Reads another program's Chrome trace.
struct ProgramTraces {
  bool (*isIts)(const ForeignTrace& trace) = nullptr;  ///< whether that program wrote the trace
  /// Gives the lanes and processes of such a trace their ranks and names.
  void (*place)(ForeignTrace& trace) = nullptr;
  bool describesEvents = false;  ///< false: they have their kinds and numbers before isIts()
};

/// A program whose traces are read. Its page in docs/inputs/ says which file of which version has
/// each of its names.
struct TracedProgram {
  std::string_view preset = {};  ///< the word for --kinds; empty: no preset
  /// Its names, of which the first row that matches counts; then those of the library that it
  /// trains with. Null: none.
  std::span<const NameRow> (*rows)() = nullptr;
  std::span<const NameRow> (*libraryRows)() = nullptr;
  ProgramTraces traces = {};  ///< empty: their processes are ranks, as in those of unknown programs

  std::span<const NameRow> names() const {
    return rows == nullptr ? std::span<const NameRow>() : rows();
  }
  std::span<const NameRow> libraryNames() const {
    return libraryRows == nullptr ? std::span<const NameRow>() : libraryRows();
  }
};

std::span<const NameRow> torchNames();
std::span<const NameRow> megatronNames();
std::span<const NameRow> deepspeedNames();
std::span<const NameRow> torchtitanNames();
std::span<const NameRow> paddleNames();
std::span<const NameRow> nemoNames();

/// Names that several programs share, and those of device runtimes and communication libraries.
std::span<const NameRow> commonNames();

/// A trace of PyTorch's profiler (Kineto).
///
/// Such a file holds one rank: the one that `distributedInfo` names, else that of the file's name,
/// else the next free one. `trace.recorded` gets the process that the host's events are of. Threads
/// and streams become lanes of that rank.
///
/// Jobs are the outermost annotations of a host's thread (`record_function`) whose names say a
/// job's kind. A job's work on devices is that whose launch lies in the annotation on its thread,
/// or that autograd's threads launched meanwhile for it (Launches). The job goes to the compute
/// lane. It lasts from the first start to the last end of its work on compute streams,
/// communication apart; the annotation goes to the lane `host`. Both, and the work, have the job's
/// number. With JobTime::kHost the job has the annotation's times. Without a device it lasts as
/// long as its operators, and messages are lanes (placeHostOnly).
///
/// Annotations of single stages' jobs (`PP:1F3`) inside a schedule's own (`Forward 3`) are the
/// jobs, unless JobTime::kHost is asked for.
///
/// Kernels of NCCL become collectives, other kernels kernels, and copies copies. Events of the host
/// have no kind unless the user asked for one. Events get their step from `ProfilerStep#7`, those
/// on a device through the operator that launched them ("External id").
bool isKinetoTrace(const ForeignTrace& trace);
void placeKinetoTrace(ForeignTrace& trace);

/// A timeline of ByteDance's straggler study ("Understanding Stragglers in Large Model Training
/// Using What-if Analysis"): its lanes are called "PP rank 0, TP rank 0, compute". Processes are
/// data-parallel ranks, and lanes name the pipeline stage. The lanes of a rank have the five tids
/// from five times its number on. Sends and receives name no micro-batch. Where ranks have one
/// chunk, they get that of the compute job with the same running number in their step.
bool isStragglerTrace(const ForeignTrace& trace);
void placeStragglerTrace(ForeignTrace& trace);

/// A trace_view.json of Ascend's profilers (torch_npu, MindSpore, msprof): one of its processes is
/// called "Ascend Hardware", or two have other names of that program. Such a file holds one rank:
/// its processes and threads become lanes of that rank.
bool isAscendTrace(const ForeignTrace& trace);
void placeAscendTrace(ForeignTrace& trace);

/// The trace that MegatronApp's script makes of the files of all ranks: processes are numbers, and
/// jobs name their position in the pipeline (`pp_rank`). Each process is the rank of its number.
bool isMegatronTrace(const ForeignTrace& trace);
void placeMegatronTrace(ForeignTrace& trace);

/// A plan as torch.distributed.pipelining's `_dump_chrometrace` writes it: actions (`0F0`) of the
/// categories "computation" and "communication", with the rank as process and as thread. Each takes
/// a microsecond; a warning says that it is no recording.
bool isTorchPlanTrace(const ForeignTrace& trace);
void placeTorchPlanTrace(ForeignTrace& trace);

/// The records of PaddlePaddle's dynamic-graph pipeline (`profiling` of `pp_configs`), all of the
/// category "pipeline timeline": those of one rank, or of all. Stages are threads of one process,
/// counted from 1, and become ranks. Their milliseconds become microseconds.
bool isPaddleTrace(const ForeignTrace& trace);
void placePaddleTrace(ForeignTrace& trace);

/// All programs: those with a preset in the order of the help, those with a reader in the order in
/// which they are asked.
inline constexpr TracedProgram kTracedPrograms[] = {
    {.preset = "torch", .rows = torchNames, .traces = {isKinetoTrace, placeKinetoTrace, true}},
    {.traces = {isTorchPlanTrace, placeTorchPlanTrace, true}},
    {.traces = {isStragglerTrace, placeStragglerTrace}},
    {.traces = {isAscendTrace, placeAscendTrace}},
    {.preset = "megatron", .rows = megatronNames, .traces = {isMegatronTrace, placeMegatronTrace}},
    {.preset = "deepspeed", .rows = deepspeedNames},
    {.preset = "torchtitan", .rows = torchtitanNames, .libraryRows = torchNames},
    {.preset = "paddle", .rows = paddleNames, .traces = {isPaddleTrace, placePaddleTrace, true}},
    {.preset = "nemo", .rows = nemoNames, .libraryRows = megatronNames},
};

}  // namespace pipetrace
