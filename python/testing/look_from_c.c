/* A program in C that reads a run by the C ABI. */
#include <stdio.h>
#include <string.h>

#include "python/abi/pipetrace_run.h"

int pipetraceLookFromC(const char* options, char* error, int size);

/* Returns the number of rows of the table of jobs, or -1 with the error. */
int pipetraceLookFromC(const char* options, char* error, int size) {
  char* text = NULL;
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  int rows = -1;
  pipetrace_run* run = pipetrace_run_load(options, NULL, NULL, &text);
  memset(&batch, 0, sizeof(batch));
  if (run != NULL && pipetrace_run_table(run, "jobs", &stream, NULL, NULL, &text) == 0) {
    pipetrace_run_free(run); /* the table needs it no more */
    run = NULL;
    if (stream.get_next(&stream, &batch) == 0) {
      rows = (int)batch.length;
      batch.release(&batch);
    }
    stream.release(&stream);
  }
  if (text != NULL) snprintf(error, (size_t)size, "%s", text);
  pipetrace_run_free_text(text);
  pipetrace_run_free(run);
  return rows;
}
