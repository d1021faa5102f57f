#pragma once

#include <cstdint>

// Tests: a libcuda.so.1 with one made-up device, whose streams work by the real clock. Beside the
// functions of the driver that recording calls, it has these. Any thread.
extern "C" {

/// A stream of the device, as a program would make one.
void* fakeCudaNewStream();
/// Queues work of this length on it. Null: the legacy default stream.
void fakeCudaWork(void* stream, std::int64_t nanoseconds);
/// From now on the stream's work goes into a graph, or does not.
void fakeCudaCapture(void* stream, bool captures);
/// Whether the calling thread has a context.
bool fakeCudaHasContext();
/// Event records, while the stream's work did not go into a graph.
int fakeCudaRecords();
/// Calls that the driver would refuse, or should not have got: events made without a context, or
/// recorded into a graph, or asked for before they were recorded.
int fakeCudaMisuses();
}
