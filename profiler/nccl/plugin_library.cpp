// libnccl-profiler-pipetrace.so: the name by which NCCL finds the plugin with
// NCCL_PROFILER_PLUGIN=pipetrace. The plugin itself is in libpipetrace.so, which this library
// depends on and where a lookup goes on; so a program's recorder and the plugin share one copy of
// all that they have in common.

extern "C" __attribute__((visibility("default"))) const char pipetrace_nccl_plugin[];
extern "C" const char pipetrace_nccl_plugin[] = "libpipetrace.so holds ncclProfiler_v5";
