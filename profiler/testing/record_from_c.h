#ifndef PIPETRACE_PROFILER_RECORD_FROM_C_H_
#define PIPETRACE_PROFILER_RECORD_FROM_C_H_

#ifdef __cplusplus
extern "C" {
#endif

/* Tests: records two steps of three jobs, a receive and a send each into `folder`, through the C
 * header as a C compiler sees it. Returns 0, or the number of the check that failed. */
int recordFromC(const char* folder);

#ifdef __cplusplus
}
#endif

#endif
