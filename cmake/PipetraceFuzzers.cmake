# PIPETRACE_FUZZERS: a fuzzer sees which lines an input reaches only if the libraries that read it are
# compiled for it. Those of tools/fuzz.sh are optimized, in a build folder of their own.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "PIPETRACE_FUZZERS=ON needs clang: apt-get install clang-16, and configure "
                      "with -DCMAKE_CXX_COMPILER=clang++-16")
endif()
add_custom_target(fuzzers) # all of them

# pipetrace_fuzzed(LIBRARY ... [LONG LIBRARY ...]): compiled for fuzzers. Programs that are none link
# what counts lines, which is in no library without a sanitizer. LONG: only with
# PIPETRACE_FUZZ_LONG, as of tools/fuzz.sh: tests would take longer by it than the few seconds of
# their fuzzers are worth.
function(pipetrace_fuzzed)
  cmake_parse_arguments(ARG "" "" "LONG" ${ARGN})
  set(libraries ${ARG_UNPARSED_ARGUMENTS})
  if(PIPETRACE_FUZZ_LONG)
    list(APPEND libraries ${ARG_LONG})
  endif()
  foreach(library ${libraries})
    target_compile_options(pipetrace_${library} PRIVATE -fsanitize=fuzzer-no-link)
    target_link_options(pipetrace_${library} INTERFACE -fsanitize=fuzzer-no-link)
  endforeach()
endfunction()

# pipetrace_fuzzer(NAME SOURCES ... LINK ...): program fuzz_NAME, which gives each input to the target
# NAME of fuzz/targets.h.
function(pipetrace_fuzzer NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  pipetrace_program(fuzz_${NAME} SOURCES ${ARG_SOURCES} LINK ${ARG_LINK})
  target_compile_definitions(fuzz_${NAME} PRIVATE PIPETRACE_FUZZ_TARGET="${NAME}")
  target_compile_options(fuzz_${NAME} PRIVATE -fsanitize=fuzzer-no-link)
  target_link_options(fuzz_${NAME} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers fuzz_${NAME})
endfunction()
