/* Records the jobs of one rank of a training run, stream by stream, into a job log that pipe-trace
 * and pipe-view read (docs/profiler.md). Plain C, for programs in any language; C++ programs may
 * use profiler/recorder.h instead, or pipetrace::Scope below.
 *
 * A recorder that is off is a null pointer, and every function takes one and does nothing.
 * Functions that begin, end or count take no lock, allocate nothing and never wait; so they keep
 * the addresses of texts, which must stay as they are until the recorder is closed: see
 * pipetrace_text(). Functions that add something copy theirs. Texts are cut to 1024 bytes. A
 * function that returns an int returns 0, or -1 after an error, which pipetrace_error() explains;
 * none throws.
 *
 * Stability: enumerators keep their values, structs grow at their end only (`size` says how much of
 * one the caller knows), functions stay. */
#ifndef PIPETRACE_PROFILER_PIPETRACE_H_
#define PIPETRACE_PROFILER_PIPETRACE_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
#define PIPETRACE_NOEXCEPT noexcept
extern "C" {
#else
#define PIPETRACE_NOEXCEPT
#endif
#if defined(__GNUC__)
#define PIPETRACE_API __attribute__((visibility("default")))
#else
#define PIPETRACE_API
#endif

#define PIPETRACE_NOT_GIVEN (-1)

typedef struct pipetrace_recorder pipetrace_recorder;

enum pipetrace_switch {
  /* PIPETRACE, FLAGS_auto_parallel_profiler (docs/profiler.md). Off when neither is set; if a log
   * folder is given, one line on stderr says so. */
  PIPETRACE_BY_ENVIRONMENT = 0,
  PIPETRACE_ON = 1,
  PIPETRACE_OFF = 2
};

/* Kinds of jobs; docs/profiler.md says when to use each. Up to PIPETRACE_DEFAULT they are for the
 * stream "compute", after that for the other streams. */
enum pipetrace_kind {
  PIPETRACE_LR = 0,
  PIPETRACE_FORWARD = 1,
  PIPETRACE_BACKWARD = 2,
  PIPETRACE_BACKWARD_INPUT = 3,
  PIPETRACE_BACKWARD_WEIGHT = 4,
  PIPETRACE_FORWARD_BACKWARD = 5,
  PIPETRACE_RECOMPUTE = 6,
  PIPETRACE_OPTIMIZER = 7,
  PIPETRACE_DATA = 8,
  PIPETRACE_DEFAULT = 9,
  PIPETRACE_SEND_FORWARD = 10,
  PIPETRACE_RECV_FORWARD = 11,
  PIPETRACE_SEND_BACKWARD = 12,
  PIPETRACE_RECV_BACKWARD = 13,
  PIPETRACE_ALL_REDUCE = 14,
  PIPETRACE_ALL_GATHER = 15,
  PIPETRACE_REDUCE_SCATTER = 16,
  PIPETRACE_COPY = 17,
  PIPETRACE_CHECKPOINT = 18, /* for the stream "compute" */
  PIPETRACE_ALL_TO_ALL = 22,
  PIPETRACE_BROADCAST = 23
};

/* What a program does in its steps. No figure of training counts the steps of other phases. */
enum pipetrace_phase { PIPETRACE_TRAINING = 0, PIPETRACE_EVALUATE = 1, PIPETRACE_PREDICT = 2 };

typedef struct pipetrace_options {
  size_t size;        /* sizeof(pipetrace_options) */
  int32_t enabled;    /* enum pipetrace_switch */
  int32_t rank;       /* the log is log_directory/workerlog.<rank> */
  int32_t world_size; /* this and the next six: 0 or null if not known */
  int32_t num_stages; /* virtual stages: pipeline ranks * chunks */
  int32_t num_chunks;
  int32_t num_micro_batches;
  const char* device; /* for people */
  const char* schedule;
  const char* log_directory; /* null: PIPETRACE_LOG_DIR, or "logs" */
  int32_t first_step;        /* record steps from this one ... */
  int32_t end_step;          /* ... up to, and without, this one; both 0: PIPETRACE_STEPS, or all */
  uint32_t ring_slots; /* records a stream can hold until they are written, rounded up to a power of
                          two; 0: 16384 */
  const char*
      blocks; /* of the model, by stage: "12,13,13,11"; null: not known. After version 0.1 */
  int32_t data_parallel_index;   /* which replica of the pipeline the rank is in, from 0; this and
                                    the next: PIPETRACE_NOT_GIVEN if not known. After version 0.1 */
  int32_t tensor_parallel_index; /* which of the ranks that share the work of its stage it is */
} pipetrace_options;

typedef struct pipetrace_job {
  uint32_t size; /* sizeof(pipetrace_job) */
  int32_t kind;  /* enum pipetrace_kind */
  int32_t micro_batch;
  int32_t step;       /* PIPETRACE_NOT_GIVEN: that of pipetrace_begin_step() */
  int32_t stage;      /* virtual stage; this and the rest: PIPETRACE_NOT_GIVEN or null */
  int32_t chunk;      /* up to 32767 */
  int32_t peer;       /* transfers: the rank at the other end */
  int64_t bytes;      /* transfers */
  int64_t id;         /* compute jobs: PIPETRACE_NOT_GIVEN, or from pipetrace_next_job_id();
                         transfers: the id of the compute job that they belong to */
  const char* action; /* the plan's cell ("1F2"); stays as it is until pipetrace_close() */
  int32_t part;       /* compute jobs: part of the micro-batch, up to 32767. After version 0.1 */
  int32_t version;    /* compute jobs: of the weights that the job uses. After version 0.1 */
} pipetrace_job;

/* Starts options and jobs with nothing given. `size` is that of the caller's struct, which may come
 * from an older or a newer version of this header than the library: no more than that is written,
 * and fields that the library does not know are zeroed. */
PIPETRACE_API void pipetrace_options_init_sized(pipetrace_options* options, size_t size);
PIPETRACE_API void pipetrace_job_init_sized(pipetrace_job* job, size_t size, int32_t kind);

/* The same for programs that do not use this header, but load the functions by name: the structs
 * are those of version 0.1, whatever the library's version is. In C and C++ these names are the
 * macros below. */
PIPETRACE_API void pipetrace_options_init(pipetrace_options* options);
PIPETRACE_API void pipetrace_job_init(pipetrace_job* job, int32_t kind);
#define pipetrace_options_init(options) \
  pipetrace_options_init_sized((options), sizeof(pipetrace_options))
#define pipetrace_job_init(job, kind) pipetrace_job_init_sized((job), sizeof(pipetrace_job), (kind))

/* Opens the log for appending. `*recorder` becomes null when recording is off. */
PIPETRACE_API int pipetrace_open(const pipetrace_options* options, pipetrace_recorder** recorder);

/* A stream of the CPU: its jobs run on the thread that calls pipetrace_begin(), one thread at a
 * time. The one named "compute" holds the pipeline's jobs; others ("send", "recv") what goes on
 * beside it. Returns the stream, from 0, or -1. Before the first job. */
PIPETRACE_API int pipetrace_add_stream(pipetrace_recorder* recorder, const char* name);
/* A CUDA stream: a job of it is what the device does between two events, which pipetrace_begin()
 * and pipetrace_end() queue. `cuda_stream` is a cudaStream_t or CUstream of that device, null the
 * legacy default stream; it must stay until the recorder is closed. `device` is CUDA's number of
 * it. Needs the driver and nothing else of CUDA; -1 where there is none, and then nothing is
 * changed. */
PIPETRACE_API int pipetrace_add_cuda_stream(pipetrace_recorder* recorder, const char* name,
                                            void* cuda_stream, int32_t device);

/* A number for a compute job that has not begun: a receive is posted before the job that it feeds,
 * and both name this `id`. No job has had it, and pipetrace_begin() will not choose it. Any thread.
 * PIPETRACE_NOT_GIVEN when the recorder is off. */
PIPETRACE_API int64_t pipetrace_next_job_id(pipetrace_recorder* recorder) PIPETRACE_NOEXCEPT;
/* Returns the job's id, or PIPETRACE_NOT_GIVEN. `job` is copied, all but its texts. Null, or a job
 * that pipetrace_job_init() has not started, is counted as an error (`misuses` in the log) and not
 * recorded. So is a job that is open when the next one begins on its stream, as jobs do not nest,
 * or when the recorder is closed. */
PIPETRACE_API int64_t pipetrace_begin(pipetrace_recorder* recorder, int stream,
                                      const pipetrace_job* job) PIPETRACE_NOEXCEPT;
PIPETRACE_API void pipetrace_end(pipetrace_recorder* recorder, int stream) PIPETRACE_NOEXCEPT;
/* In place of pipetrace_end(): forgets the open job, which is not recorded, and no error. For work
 * that turned out to be none, as when there was no batch left to load. After version 0.1 */
PIPETRACE_API void pipetrace_cancel(pipetrace_recorder* recorder, int stream) PIPETRACE_NOEXCEPT;

/* Records a job that has ended already, such as a message that was waited for. It began and ended
 * at these times of CLOCK_MONOTONIC, in ns. Its stream is one of the CPU, on which no job is open;
 * jobs of streams other than "compute" may overlap. Counted as an error on a CUDA stream. After
 * version 0.1 */
PIPETRACE_API void pipetrace_record(pipetrace_recorder* recorder, int stream,
                                    const pipetrace_job* job, int64_t began,
                                    int64_t ended) PIPETRACE_NOEXCEPT;

/* Several jobs that have ended, in one call: the same as pipetrace_record() for each, in their
 * order. For callers to whom a call is dear, such as programs of other languages. `size` is
 * sizeof(pipetrace_ended_job) of the caller's header. After version 0.1 */
typedef struct pipetrace_ended_job {
  int64_t began; /* of CLOCK_MONOTONIC, in ns, as `ended` */
  int64_t ended;
  int32_t stream;
  pipetrace_job job;
} pipetrace_ended_job;
PIPETRACE_API void pipetrace_record_all(pipetrace_recorder* recorder,
                                        const pipetrace_ended_job* jobs, size_t count,
                                        size_t size) PIPETRACE_NOEXCEPT;

/* Jobs that name no step, and samples, belong to this one from now on. On the thread of the compute
 * stream, as pipetrace_end_step(). */
PIPETRACE_API void pipetrace_begin_step(pipetrace_recorder* recorder,
                                        int32_t step) PIPETRACE_NOEXCEPT;
/* Jobs that begin from now on, on all streams, are of this phase (enum pipetrace_phase); at first
 * they are of training. Between two steps, when no job is open. Any thread. Another number is
 * counted as an error and changes nothing. After version 0.1 */
PIPETRACE_API void pipetrace_set_phase(pipetrace_recorder* recorder,
                                       int32_t phase) PIPETRACE_NOEXCEPT;
/* All compute jobs of the step have ended: its lines can be written. */
PIPETRACE_API void pipetrace_end_step(pipetrace_recorder* recorder,
                                      int32_t step) PIPETRACE_NOEXCEPT;

/* A text of this content that stays as it is until the recorder is closed, for `action`, `name` and
 * `unit` below and above when the program makes them up (snprintf into a buffer; a string of
 * another language that lives as long as a call). Equal contents give the same text. Takes a lock,
 * and allocates the first time: keep the text that it returns, and do not ask for a new one with
 * every job. A text literal needs no copy. Null for null, and when there is no memory; "" when the
 * recorder is off. Any thread. */
PIPETRACE_API const char* pipetrace_text(pipetrace_recorder* recorder, const char* text);

/* One sample, now. Any thread. The texts stay as they are until the recorder is closed, see
 * pipetrace_text(); `unit` may be null. */
PIPETRACE_API void pipetrace_counter(pipetrace_recorder* recorder, const char* name, double value,
                                     const char* unit) PIPETRACE_NOEXCEPT;
/* A counter whose value is asked for about ten times a second, by a thread of the recorder. */
PIPETRACE_API int pipetrace_add_counter(pipetrace_recorder* recorder, const char* name,
                                        const char* unit, double (*value)(void* context),
                                        void* context);

/* Clocks of several hosts (docs/profiler-languages.md). Rank 0 answers what time it is, until its
 * recorder is closed: it listens at `address`, one of its host ("0.0.0.0": all),
 * and `port`, 0 for any that is free. Returns the port, or -1. Every other rank compares its clock
 * with the one at that place now and then, and writes what it finds into its log; it does not wait
 * for it. Who asks without the same `token` gets no answer; null or "": none is needed. After
 * version 0.1 */
PIPETRACE_API int pipetrace_serve_clock(pipetrace_recorder* recorder, const char* address,
                                        int32_t port, const char* token);
PIPETRACE_API int pipetrace_compare_clock(pipetrace_recorder* recorder, const char* address,
                                          int32_t port, const char* token);

/* Waits until everything recorded so far is in the log. No thread may be recording. */
PIPETRACE_API int pipetrace_flush(pipetrace_recorder* recorder);
/* Writes the rest, closes the log, and frees the recorder, also when it returns -1. */
PIPETRACE_API int pipetrace_close(pipetrace_recorder* recorder);

/* Says what the last function that failed on this thread could not do, and what to try; "" before.
 * The text stays until the next one fails. */
PIPETRACE_API const char* pipetrace_error(void);

#if defined(__cplusplus)
} /* extern "C" */

namespace pipetrace {

/* A job from here to the end of the block. */
class Scope {
 public:
  Scope(pipetrace_recorder* recorder, int stream, const pipetrace_job& job) noexcept
      : recorder_(recorder), stream_(stream) {
    if (recorder_ != nullptr) id_ = pipetrace_begin(recorder_, stream_, &job);
  }
  ~Scope() {
    if (recorder_ != nullptr) pipetrace_end(recorder_, stream_);
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  int64_t id() const noexcept { return id_; }

 private:
  pipetrace_recorder* const recorder_;
  const int stream_;
  int64_t id_ = PIPETRACE_NOT_GIVEN;
};

} /* namespace pipetrace */
#endif

#endif /* PIPETRACE_PROFILER_PIPETRACE_H_ */
