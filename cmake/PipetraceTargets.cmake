# Functions that declare a library, a program and a test of this project, so that all are built
# alike.
include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

# -Wno-restrict: g++ 12 warns of std::string's own operator+ (GCC bug 105651).
add_library(pipetrace_flags INTERFACE)
target_compile_options(pipetrace_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
                                                 -Woverloaded-virtual -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(pipetrace_flags INTERFACE -Wno-restrict)
endif()
if(PIPETRACE_WERROR)
  target_compile_options(pipetrace_flags INTERFACE -Werror)
endif()
if(PIPETRACE_SANITIZE)
  target_compile_options(pipetrace_flags INTERFACE "-fsanitize=${PIPETRACE_SANITIZE}"
                                                   -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
  if(PIPETRACE_SANITIZE MATCHES "undefined")
    # These checks make the most code; AddressSanitizer or the processor find the same mistakes.
    target_compile_options(pipetrace_flags INTERFACE
                           -fno-sanitize=null,alignment,object-size,vptr)
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    if(PIPETRACE_SANITIZE MATCHES "address")
      # Tests took twice as long with it, and g++ leaves it out, too.
      target_compile_options(pipetrace_flags INTERFACE -fsanitize-address-use-after-return=never)
    endif()
    foreach(sanitizer address thread) # g++ defines these macros itself
      if(PIPETRACE_SANITIZE MATCHES "${sanitizer}")
        string(TOUPPER "__SANITIZE_${sanitizer}__" macro)
        target_compile_definitions(pipetrace_flags INTERFACE ${macro})
      endif()
    endforeach()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Under sanitizers this warning has false positives (manual of GCC).
    target_compile_options(pipetrace_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
  target_link_options(pipetrace_flags INTERFACE "-fsanitize=${PIPETRACE_SANITIZE}")
  find_program(PIPETRACE_LLD ld.lld)
  if(PIPETRACE_LLD) # links these large programs in a quarter of the time
    target_link_options(pipetrace_flags INTERFACE -fuse-ld=lld)
  endif()
endif()

# LibTorch leaks, and AddressSanitizer needs a symbolizer to tell its leaks from those of PipeTrace.
set(PIPETRACE_LEAK_ENVIRONMENT "")
if(PIPETRACE_RUNTIME AND PIPETRACE_SANITIZE MATCHES "address")
  find_program(PIPETRACE_SYMBOLIZER NAMES llvm-symbolizer-16 llvm-symbolizer llvm-symbolizer-14)
  if(PIPETRACE_SYMBOLIZER)
    set(known "${PROJECT_SOURCE_DIR}/runtime/testing/leak_sanitizer.supp")
    set(PIPETRACE_LEAK_ENVIRONMENT
        "ASAN_OPTIONS=external_symbolizer_path='${PIPETRACE_SYMBOLIZER}'"
        "LSAN_OPTIONS=suppressions='${known}':print_suppressions=0")
  else()
    message(STATUS "Tests of the runtime report no leaks: llvm-symbolizer is missing (package llvm)")
    set(PIPETRACE_LEAK_ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
  endif()
endif()

# Most of the time of the project's own checks goes into compiling tests. So tests are optimized
# less than programs. Link it after pipetrace_flags.
add_library(pipetrace_test_flags INTERFACE)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(pipetrace_test_flags
                         INTERFACE $<$<CONFIG:RelWithDebInfo,Release>:-O0>)
  # After a precompiled header g++ 12 warns of std::string, as if it were no system header.
  target_compile_options(pipetrace_test_flags INTERFACE -Wno-array-bounds -Wno-stringop-overflow
                                                        -Wno-stringop-overread)
endif()

# pipetrace_library(NAME SOURCES ... [PUBLIC ...] [PRIVATE ...]): target pipetrace_NAME, used as
# pipetrace::NAME. It links PUBLIC and PRIVATE. APART: of its sources, those that stay files
# of their own (PIPETRACE_UNITE), because some targets that link it must not take them. HOT: its
# tests take so long that optimizing a Debug build pays, too.
function(pipetrace_library NAME)
  cmake_parse_arguments(ARG "HOT" "" "APART;SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(pipetrace_${NAME} STATIC ${ARG_SOURCES})
  add_library(pipetrace::${NAME} ALIAS pipetrace_${NAME})
  set_target_properties(pipetrace_${NAME} PROPERTIES EXPORT_NAME ${NAME})
  target_include_directories(
    pipetrace_${NAME} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
                             "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/pipetrace>")
  target_compile_features(pipetrace_${NAME} PUBLIC cxx_std_20)
  target_link_libraries(
    pipetrace_${NAME}
    PUBLIC ${ARG_PUBLIC}
    PRIVATE ${ARG_PRIVATE} "$<BUILD_INTERFACE:pipetrace_flags>")
  if(ARG_HOT)
    target_compile_options(pipetrace_${NAME} PRIVATE $<$<CONFIG:Debug>:-O1>)
  endif()
  if(PIPETRACE_FUZZERS OR PIPETRACE_UNITE)
    set_source_files_properties(${ARG_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    pipetrace_unite(pipetrace_${NAME})
  endif()
endfunction()

# pipetrace_program(NAME SOURCES ... LINK ...)
function(pipetrace_program NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE ${ARG_LINK} pipetrace_flags)
  if(PIPETRACE_UNITE)
    pipetrace_unite(${NAME})
  endif()
endfunction()

# GoogleMock's header is most of the text that the compiler of a test reads.
function(pipetrace_test_headers NAME)
  target_precompile_headers(${NAME} PRIVATE <gmock/gmock.h> <filesystem> <fstream> <map> <regex>
                            <string> <vector>)
endfunction()

# Compiled once, for all tests that do not ask for OWN_HEADERS.
function(pipetrace_common_test_headers)
  # A program, as tests are programs: the options of the compiler differ for a library.
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/test_headers.cpp" CONTENT "int main() {}\n")
  add_executable(pipetrace_test_headers "${CMAKE_BINARY_DIR}/test_headers.cpp")
  target_link_libraries(pipetrace_test_headers PRIVATE GTest::gmock pipetrace_flags
                                                       pipetrace_test_flags)
  pipetrace_test_headers(pipetrace_test_headers)
  add_library(pipetrace_test_main OBJECT "${PROJECT_SOURCE_DIR}/trace/testing/main.cpp")
  target_link_libraries(pipetrace_test_main PUBLIC GTest::gmock PRIVATE pipetrace_flags)
  target_include_directories(pipetrace_test_main PRIVATE "${PROJECT_SOURCE_DIR}")
endfunction()

# pipetrace_test(NAME SOURCES ... LINK ... [LABELS ...] [TIMEOUT s]): one GoogleTest program whose
# suites CTest runs one by one. NO_MAIN: the sources have their own main(). SERIAL: its cases run
# with no other test beside them, because they measure time. OWN_HEADERS: its libraries have
# compiler options for which the common precompiled header is not valid. OWN_MACROS: they define
# macros, which for clang is the same. WAITS: its cases wait for long, so CTest starts them first.
# SANITIZED: left out without PIPETRACE_SANITIZED_TESTS. Tests
# with the label "threads" also run under ThreadSanitizer.
function(pipetrace_test NAME)
  if(NOT PIPETRACE_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "NO_MAIN;SERIAL;OWN_HEADERS;OWN_MACROS;WAITS;SANITIZED" "TIMEOUT" "SOURCES;LINK;LABELS;ENVIRONMENT" ${ARGN})
  if(ARG_SANITIZED AND NOT PIPETRACE_SANITIZED_TESTS)
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)  # for what hangs: the slowest takes a minute on a busy machine
  endif()
  set(main pipetrace_test_main)
  if(ARG_NO_MAIN)
    set(main GTest::gmock)
  endif()
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE ${ARG_LINK} ${main} pipetrace_flags
                                        pipetrace_test_flags)
  target_compile_definitions(${NAME} PRIVATE PIPETRACE_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                             PIPETRACE_BINARY_DIR="${CMAKE_BINARY_DIR}")
  if(PIPETRACE_UNITE)
    pipetrace_unite_tests(${NAME})
  endif()
  if(ARG_OWN_HEADERS OR (ARG_OWN_MACROS AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU"))
    pipetrace_test_headers(${NAME})
  else()
    target_precompile_headers(${NAME} REUSE_FROM pipetrace_test_headers)
  endif()
  if("runtime" IN_LIST ARG_LABELS)
    list(APPEND ARG_ENVIRONMENT ${PIPETRACE_LEAK_ENVIRONMENT})
  endif()
  set(properties "TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT [==[${ARG_ENVIRONMENT}]==]")
  if(ARG_SERIAL)
    string(APPEND properties " RUN_SERIAL ON")
  endif()
  if(ARG_WAITS)
    string(APPEND properties " COST 100")  # after that of list_suites.cmake, so it counts
  endif()
  if(ARG_LABELS)
    string(APPEND properties " LABELS [==[${ARG_LABELS}]==]")
  endif()
  pipetrace_suites(${NAME} "${properties}")
endfunction()
