#pragma once

#include "schedule/builders/schedule_info.h"

/// The one list of schedules. The row of each stands in the source file of its order, in this
/// folder, under its name in snake_case. Close relatives share a file. The row of kAuto stands
/// beside the search.
///
/// Aliases there are: torch.distributed.pipelining's classes and the names that
/// get_schedule_class() knows; PaddlePaddle's pipeline passes and the classes of its dynamic mode;
/// Megatron-LM's functions. Also the zero-bubble repository's options, classes of DeepSpeed and
/// Colossal-AI, and MindSpore's and MindSpeed's options. Spellings that differ only in case, '-',
/// '_' and blanks need not be listed.
namespace pipetrace::schedules {

extern const ScheduleInfo kFThenB;
extern const ScheduleInfo kGPipe;
extern const ScheduleInfo kOneFOneB;
extern const ScheduleInfo kEagerOneFOneB;
extern const ScheduleInfo kInterleavedOneFOneB;
extern const ScheduleInfo kCombinedOneFOneB;
extern const ScheduleInfo kLoopedBfs;
extern const ScheduleInfo kZbH1;
extern const ScheduleInfo kZbH2;
extern const ScheduleInfo kInterleavedZeroBubble;
extern const ScheduleInfo kZbV;
extern const ScheduleInfo kVHalf;
extern const ScheduleInfo kVMin;
extern const ScheduleInfo kDualPipe;
extern const ScheduleInfo kDualPipeV;
extern const ScheduleInfo kPipeDream;
extern const ScheduleInfo kPipeDream2bw;
extern const ScheduleInfo kForwardOnly;
extern const ScheduleInfo kAuto;

/// In the order in which lists show them.
inline constexpr const ScheduleInfo* kAll[] = {&kFThenB,
                                               &kGPipe,
                                               &kOneFOneB,
                                               &kEagerOneFOneB,
                                               &kInterleavedOneFOneB,
                                               &kCombinedOneFOneB,
                                               &kLoopedBfs,
                                               &kZbH1,
                                               &kZbH2,
                                               &kInterleavedZeroBubble,
                                               &kZbV,
                                               &kVHalf,
                                               &kVMin,
                                               &kDualPipe,
                                               &kDualPipeV,
                                               &kPipeDream,
                                               &kPipeDream2bw,
                                               &kForwardOnly,
                                               &kAuto};

/// The name of kOneFOneB, which is taken where nothing says which.
inline constexpr const char* kDefault = "1F1B";

}  // namespace pipetrace::schedules
