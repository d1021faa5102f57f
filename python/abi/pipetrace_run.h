/* Looks at runs of pipeline-parallel training: reads logs and traces of any program that pipe-trace
 * reads (docs/inputs.md), and answers what pipe-trace answers. Plain C, for programs in any
 * language; the Python package `pipetrace` is written on it (docs/python.md). To record a run:
 * profiler/pipetrace.h.
 *
 * Work. Reading a run, a question and a table are tasks: pipetrace_run_start_...() begins one on a
 * thread of its own and returns at once, pipetrace_task_wait() waits for its end. The caller may
 * look at its progress and cancel it meanwhile. A task is used by one thread at a time, but for
 * pipetrace_task_cancel(). pipetrace_run_load(), pipetrace_run_ask() and pipetrace_run_table() do
 * all of that in one call. Any number of tasks may ask the same run: they take turns.
 *
 * Options are a JSON object, or null for none. Its keys are the options of the pipe-trace command
 * without their dashes, with - or _ between words: {"steps": "2:5", "scale": ["rank=6:0.8"],
 * "no_launch": true}. A list gives an option several times; false and null leave it out.
 *
 * Answers are UTF-8 texts: JSON as the commands print it, SVG files and HTML pages. Times in them
 * are whole nanoseconds.
 *
 * Ownership. Whoever starts a task frees it. Texts of a task live as long as it does. A run is
 * freed with pipetrace_run_free(), once; tasks and tables that need it keep what they need.
 *
 * Errors are texts, the same that the commands print. No function throws, or ends the program while
 * there are some hundred bytes of memory.
 *
 * Stability: functions stay, and questions, columns and keys only become more. */
#ifndef PIPETRACE_PYTHON_ABI_PIPETRACE_RUN_H_
#define PIPETRACE_PYTHON_ABI_PIPETRACE_RUN_H_

#include <stddef.h>
#include <stdint.h>

#include "python/abi/arrow.h"

#if defined(__cplusplus)
#define PIPETRACE_RUN_NOEXCEPT noexcept
extern "C" {
#else
#define PIPETRACE_RUN_NOEXCEPT
#endif
#if defined(__GNUC__)
#define PIPETRACE_RUN_API __attribute__((visibility("default")))
#else
#define PIPETRACE_RUN_API
#endif

/* A run that was read. */
typedef struct pipetrace_run pipetrace_run;
/* Work that is under way, or has ended. */
typedef struct pipetrace_task pipetrace_task;

/* The version of PipeTrace, such as "0.1.0". */
PIPETRACE_RUN_API const char* pipetrace_run_version(void) PIPETRACE_RUN_NOEXCEPT;

/* Starts to read a run. `options`: {"inputs": ["logs"]} with what says how they are read: steps,
 * pp, dp, tp, vpp, align, threads, run, pattern, time-unit, kinds, time (pipe-trace report --help).
 * Never null. The task's result is a run. */
PIPETRACE_RUN_API pipetrace_task* pipetrace_run_start_load(const char* options)
    PIPETRACE_RUN_NOEXCEPT;

/* Starts to answer a question. `options`: those of the command, but for inputs and how they are
 * read. Never null. The task's result is a text:
 *
 *   about          who is where, as JSON: inputs, ranks, steps, begin_ns, end_ns, topology (pp, dp,
 *                  tp, vpp, inferred, places), and what was noticed while reading (warnings,
 *                  notes); no doubts
 *   trust          the doubts about the run: `trust` of docs/report.schema.json
 *   report         docs/report.schema.json; report-text, report-page (HTML): its other forms
 *   advise         docs/advice.md; advise-text
 *   what-if        docs/what-if.md; what-if-text. An error where no answer can be trusted
 *   diff           docs/diff.schema.json, from `run` to `other`; diff-text, diff-page.
 *                  {"names": ["before", "after"]} names the two
 *   chart          a step as an SVG file; options steps, ranks, skip, theme, dark
 *   save           writes the files of {"output": ["a.json", "b.pftrace", "c.html"]}, all or none;
 *                  with options of pipe-trace without a command. The text says what was written
 *   plan           what pipe-trace plan prints with these options, as --json or --check; with
 * `run`, its costs are those of --costs-from; plan-picture: the simulated plan as an SVG file
 *
 * `run` may be null for plan, `other` for all but diff. */
PIPETRACE_RUN_API pipetrace_task* pipetrace_run_start_ask(pipetrace_run* run, pipetrace_run* other,
                                                          const char* question, const char* options)
    PIPETRACE_RUN_NOEXCEPT;

/* Starts to make a table: jobs, messages, collectives, bubbles, counters or by_name (docs/python.md
 * lists their columns). It is made once; later tasks get the same. Never null. The task's result is
 * a stream. */
PIPETRACE_RUN_API pipetrace_task* pipetrace_run_start_table(pipetrace_run* run, const char* table)
    PIPETRACE_RUN_NOEXCEPT;

/* Waits for the end of a task, at most that many milliseconds; negative: as long as it takes.
 * Returns 1 when it has ended, 0 when it has not. */
PIPETRACE_RUN_API int pipetrace_task_wait(pipetrace_task* task,
                                          int milliseconds) PIPETRACE_RUN_NOEXCEPT;

/* Makes a task end soon, with an error. Any thread may call it. */
PIPETRACE_RUN_API void pipetrace_task_cancel(pipetrace_task* task) PIPETRACE_RUN_NOEXCEPT;

/* How far a task is: `what` it does ("reading", bytes; "trying", changes), how much of it is done,
 * and how much there is in all; 0: not known. Any of them may be null. `what` lives for ever. */
PIPETRACE_RUN_API void pipetrace_task_progress(pipetrace_task* task, const char** what,
                                               int64_t* done, int64_t* all) PIPETRACE_RUN_NOEXCEPT;

/* Why a task that has ended has no result; null: it has one. */
PIPETRACE_RUN_API const char* pipetrace_task_error(pipetrace_task* task) PIPETRACE_RUN_NOEXCEPT;

/* The text of a question, which a zero byte ends; null: it has none. `length` (may be null) gets
 * its bytes without that. */
PIPETRACE_RUN_API const char* pipetrace_task_text(pipetrace_task* task,
                                                  size_t* length) PIPETRACE_RUN_NOEXCEPT;

/* What the answer says besides, a line each: limits that a plan exceeds, a deadlock of it on NCCL.
 * Empty: nothing. */
PIPETRACE_RUN_API const char* pipetrace_task_remarks(pipetrace_task* task) PIPETRACE_RUN_NOEXCEPT;

/* The run that was read, which the caller then owns; null: there is none, or it was taken. */
PIPETRACE_RUN_API pipetrace_run* pipetrace_task_take_run(pipetrace_task* task)
    PIPETRACE_RUN_NOEXCEPT;

/* Fills in `stream` with the table, of one batch. Columns share its memory, which lives until all
 * streams and arrays of it are released. Returns 0, or -1 where the task has no table. */
PIPETRACE_RUN_API int pipetrace_task_stream(pipetrace_task* task,
                                            struct ArrowArrayStream* stream) PIPETRACE_RUN_NOEXCEPT;

/* Frees a task, null or not. One that has not ended is cancelled, and waited for. */
PIPETRACE_RUN_API void pipetrace_task_free(pipetrace_task* task) PIPETRACE_RUN_NOEXCEPT;

/* Frees a run, null or not. */
PIPETRACE_RUN_API void pipetrace_run_free(pipetrace_run* run) PIPETRACE_RUN_NOEXCEPT;

/* Called about ten times a second on the thread that called one of the next three functions, with
 * what pipetrace_task_progress() says. Cancels the work by another result than 0. */
typedef int (*pipetrace_run_progress)(const char* what, int64_t done, int64_t all, void* context);

/* A task from its start to its result. `progress` may be null. After an error the result is null
 * (-1), and `error`, if it is not null, gets the text. Texts are freed with
 * pipetrace_run_free_text(). */
PIPETRACE_RUN_API pipetrace_run* pipetrace_run_load(const char* options,
                                                    pipetrace_run_progress progress, void* context,
                                                    char** error) PIPETRACE_RUN_NOEXCEPT;
PIPETRACE_RUN_API char* pipetrace_run_ask(pipetrace_run* run, pipetrace_run* other,
                                          const char* question, const char* options,
                                          pipetrace_run_progress progress, void* context,
                                          char** error) PIPETRACE_RUN_NOEXCEPT;
PIPETRACE_RUN_API int pipetrace_run_table(pipetrace_run* run, const char* table,
                                          struct ArrowArrayStream* stream,
                                          pipetrace_run_progress progress, void* context,
                                          char** error) PIPETRACE_RUN_NOEXCEPT;
PIPETRACE_RUN_API void pipetrace_run_free_text(char* text) PIPETRACE_RUN_NOEXCEPT;

#if defined(__cplusplus)
}
#endif

#endif /* PIPETRACE_PYTHON_ABI_PIPETRACE_RUN_H_ */
