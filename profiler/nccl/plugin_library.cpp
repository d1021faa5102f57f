// libnccl-profiler-pipetrace.so: the name by which NCCL finds the plugin with
// NCCL_PROFILER_PLUGIN=pipetrace. The plugin itself is in libpipetrace.so. This library depends on
// it, so a lookup finds the plugin there, and a program's recorder and the plugin share one copy of
// their code and data.

extern "C" __attribute__((visibility("default"))) const char pipetrace_nccl_plugin[];
extern "C" const char pipetrace_nccl_plugin[] = "libpipetrace.so holds ncclProfiler_v5";
