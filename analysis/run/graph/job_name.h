#pragma once

#include <string>

#include "analysis/run/graph/job_graph.h"

namespace pipetrace {

/// A job as plans name it: "2F5" for forward 5 of stage 2, "(0F7;7B3)OVERLAP_F_B" for a fused pair,
/// "F5" where the stage is not known. Others by their kind, such as "optimizer", or by their own
/// name.
std::string jobName(const Timeline& timeline, const JobGraph::Node& job);

/// The same for a job outside of a graph, with the micro-batch that its event gives.
std::string jobName(const Timeline& timeline, const Event& job);

/// An end of a message as plans name it: "4RECV_F1" for the receive of forward 1's data by stage 4,
/// "RECV_F1" where the stage is not known. `microBatch`: the event's own, or as counted.
std::string messageName(const Event& end, std::int32_t microBatch);

}  // namespace pipetrace
