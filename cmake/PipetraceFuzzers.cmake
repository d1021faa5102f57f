# PIPETRACE_FUZZERS: the library itself has to be built for a fuzzer to see which lines an input
# reaches, so a build with fuzzers is one of its own (tools/fuzz.sh).
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "PIPETRACE_FUZZERS=ON needs clang: apt-get install clang-16, and configure "
                      "with -DCMAKE_CXX_COMPILER=clang++-16")
endif()
add_custom_target(fuzzers) # all of them
# What these find ends a program anyway, or AddressSanitizer finds it, and they are much of the code.
target_compile_options(pipetrace_flags INTERFACE -fno-sanitize=null,vptr,object-size)

# pipetrace_fuzzer(NAME ENTRY SOURCES ... LINK ...): program fuzz_NAME, which gives each input to
# ENTRY, a function of fuzz/targets.h.
function(pipetrace_fuzzer NAME ENTRY)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  pipetrace_program(fuzz_${NAME} SOURCES ${ARG_SOURCES} LINK ${ARG_LINK})
  target_compile_definitions(fuzz_${NAME} PRIVATE PIPETRACE_FUZZ_ENTRY=${ENTRY})
  target_link_options(fuzz_${NAME} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers fuzz_${NAME})
endfunction()
