#pragma once

#include <cstdint>

// Tests: a libnvidia-ml.so.1 with two made-up GPUs. The first is CUDA's device 1 of a FakeCuda with
// UUIDs, the second its device 0: NVML counts all GPUs of a host, CUDA those that it may see.
//
// A GPU has 17 links that are up, and one that is down. Beside NVML's functions, of which those
// that recording calls are there, it has these. Any thread.
extern "C" {

/// As the library was when it was loaded.
void fakeNvmlReset();
/// What GPU `number` says from now on.
void fakeNvmlSetClock(unsigned number, unsigned megahertz);
/// Memory that this process has on both GPUs, and by how much more is used. `isListed`: the process
/// is among those that are running, twice.
void fakeNvmlSetMemory(unsigned long long own, unsigned long long others, bool isListed);
/// From now on this function of NVML returns that error; 0: it works. `number`: for a function that
/// has a kind, a policy or a link, that one alone; -1: all.
void fakeNvmlFail(const char* function, int error, int number = -1);
/// Calls of all functions of NVML since fakeNvmlReset(), and those of the calling thread, ever.
std::int64_t fakeNvmlCalls();
std::int64_t fakeNvmlCallsOfThisThread();
/// Calls of nvmlInit_v2 less those of nvmlShutdown.
int fakeNvmlUsers();
/// Calls that NVML would refuse: without nvmlInit_v2, with another version of a struct.
int fakeNvmlMisuses();
}
