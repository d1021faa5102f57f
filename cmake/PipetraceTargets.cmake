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
  # The last three: after a precompiled header g++ 12 warns of std::string, as if it were no system
  # header.
  target_compile_options(pipetrace_flags INTERFACE -Wno-restrict -Wno-array-bounds
                                                   -Wno-stringop-overflow -Wno-stringop-overread)
  # g++ looks for what it no longer needs each time that it has grown by some; where memory allows,
  # only beyond a gigabyte. That saves a tenth of its time for files that include LibTorch.
  cmake_host_system_information(RESULT memory QUERY TOTAL_PHYSICAL_MEMORY) # MiB
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  math(EXPR memory_of_core "${memory} / ${cores}")
  if(memory_of_core GREATER 4000)
    target_compile_options(pipetrace_flags INTERFACE "SHELL:--param ggc-min-heapsize=1000000"
                                                     "SHELL:--param ggc-min-expand=200")
  endif()
endif()
# Every library and program has threads, and all have one precompiled header.
target_compile_options(pipetrace_flags INTERFACE -pthread)
if(PIPETRACE_UNITE)
  # Files of a unit see each other's file-local names, and g++ takes them for headers.
  target_compile_options(pipetrace_flags INTERFACE -Wno-shadow
                                                   $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
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
endif()
find_program(PIPETRACE_LLD ld.lld)
if(PIPETRACE_LLD) # links these large programs in a quarter of the time
  target_link_options(pipetrace_flags INTERFACE -fuse-ld=lld)
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
endif()

# Bytes of sources in a unit: enough that reading headers costs little, and few enough that a change
# compiles little and all cores have work to the end. LibTorch's headers take 15 to 20 s.
set(PIPETRACE_UNIT_BYTES 130000)
set(PIPETRACE_TORCH_UNIT_BYTES 160000)
set(PIPETRACE_TEST_UNIT_BYTES 150000)

# pipetrace_library(NAME [FROM PATTERN ...] [SOURCES ...] [PUBLIC ...] [PRIVATE ...]): target
# pipetrace_NAME, used as pipetrace::NAME. It has the sources of the current folder that match a
# pattern (all without one) and that no library before it took, or SOURCES alone. It links PUBLIC and
# PRIVATE. APART: of its sources, those that stay files of their own (PIPETRACE_UNITE), because some
# targets that link it must not take them. ALSO: more sources. HOT: its tests take so long that
# optimizing a Debug build pays, too. TORCH: it includes LibTorch's headers.
function(pipetrace_library NAME)
  cmake_parse_arguments(ARG "HOT;TORCH" "" "FROM;APART;ALSO;SOURCES;PUBLIC;PRIVATE" ${ARGN})
  if(NOT ARG_SOURCES)
    pipetrace_folder_sources(ARG_SOURCES ${ARG_FROM})
    if(ARG_APART)
      list(REMOVE_ITEM ARG_SOURCES ${ARG_APART})
    endif()
  endif()
  list(APPEND ARG_SOURCES ${ARG_ALSO})
  pipetrace_take(${ARG_SOURCES} ${ARG_APART})
  set(bytes ${PIPETRACE_UNIT_BYTES})
  if(ARG_TORCH)
    set(bytes ${PIPETRACE_TORCH_UNIT_BYTES})
  endif()
  pipetrace_units(files pipetrace_${NAME} ${bytes} ${ARG_SOURCES})
  add_library(pipetrace_${NAME} STATIC ${files} ${ARG_APART})
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
  if(TARGET pipetrace_headers)
    target_precompile_headers(pipetrace_${NAME} REUSE_FROM pipetrace_headers)
  endif()
endfunction()

# The common headers of libraries. Clang takes them for targets with the same macros alone, and its
# builds gain little by them.
function(pipetrace_common_headers)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND PIPETRACE_UNITE)
    file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/headers.cpp" CONTENT "\n")
    add_library(pipetrace_headers OBJECT "${CMAKE_BINARY_DIR}/headers.cpp")
    target_link_libraries(pipetrace_headers PRIVATE pipetrace_flags Threads::Threads)
    target_precompile_headers(pipetrace_headers PRIVATE ${PIPETRACE_COMMON_HEADERS})
  endif()
endfunction()

# pipetrace_program(NAME SOURCES ... LINK ...)
function(pipetrace_program NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  pipetrace_take(${ARG_SOURCES})
  pipetrace_units(files ${NAME} ${PIPETRACE_UNIT_BYTES} ${ARG_SOURCES})
  add_executable(${NAME} ${files})
  target_include_directories(${NAME} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${NAME} PRIVATE ${ARG_LINK} pipetrace_flags)
endfunction()

# GoogleMock's header is most of the text that the compiler of a test reads.
function(pipetrace_test_headers NAME)
  target_precompile_headers(${NAME} PRIVATE <gmock/gmock.h> <filesystem> <fstream> <map> <regex>
                            <string> <vector>)
endfunction()

# Compiled once, for all tests that do not ask for OWN_HEADERS.
function(pipetrace_common_test_headers)
  add_custom_target(sanitized_tests)
  add_custom_target(thread_tests)
  # A program, as tests are programs: the options of the compiler differ for a library.
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/test_headers.cpp" CONTENT "int main() {}\n")
  add_executable(pipetrace_test_headers "${CMAKE_BINARY_DIR}/test_headers.cpp")
  target_link_libraries(pipetrace_test_headers PRIVATE GTest::gmock pipetrace_flags
                                                       pipetrace_test_flags)
  pipetrace_test_headers(pipetrace_test_headers)
  add_library(pipetrace_test_main OBJECT "${PROJECT_SOURCE_DIR}/trace/testing/main.cpp")
  target_link_libraries(pipetrace_test_main PUBLIC GTest::gmock PRIVATE pipetrace_flags)
  target_include_directories(pipetrace_test_main PRIVATE "${PROJECT_SOURCE_DIR}")
  # The only file of the tests that has paths of this clone in it, so that others share its objects.
  configure_file("${PROJECT_SOURCE_DIR}/trace/testing/folders.cpp.in"
                 "${CMAKE_BINARY_DIR}/test_folders.cpp" @ONLY)
  add_library(pipetrace_test_folders OBJECT "${CMAKE_BINARY_DIR}/test_folders.cpp")
  target_link_libraries(pipetrace_test_folders PRIVATE pipetrace_flags)
  target_include_directories(pipetrace_test_folders PRIVATE "${PROJECT_SOURCE_DIR}")
endfunction()

# pipetrace_test(NAME [FROM PATTERN ...] [SOURCES ...] [ALSO ...] LINK ... [LABELS ...] [TIMEOUT s]):
# one GoogleTest program whose suites CTest runs one by one. It has the tests of the current folder
# that match a pattern (all without one) and that no test before it took, or SOURCES alone, and
# those of ALSO. NO_MAIN: the sources have their own main(). SERIAL: its cases run
# with no other test beside them, because they measure time. OWN_HEADERS: its libraries have
# compiler options for which the common precompiled header is not valid. OWN_MACROS: they define
# macros, which for clang is the same. WAITS: its cases wait for long, so CTest starts them first.
# SANITIZED: for what reads what others wrote, or has threads: its library is compiled under
# AddressSanitizer, so without PIPETRACE_SANITIZED_TESTS it is left out; label "sanitized", target
# sanitized_tests. Tests with the label "threads" run under ThreadSanitizer, target thread_tests.
function(pipetrace_test NAME)
  if(NOT PIPETRACE_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "NO_MAIN;SERIAL;OWN_HEADERS;OWN_MACROS;TORCH;WAITS;SANITIZED" "TIMEOUT"
                        "FROM;SOURCES;ALSO;LINK;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_SOURCES)
    pipetrace_folder_tests(ARG_SOURCES ${ARG_FROM})
  endif()
  pipetrace_take(${ARG_SOURCES})
  if(ARG_SANITIZED)
    if(NOT PIPETRACE_SANITIZED_TESTS)
      return()
    endif()
    list(APPEND ARG_LABELS sanitized)
    add_dependencies(sanitized_tests ${NAME})
  endif()
  if("threads" IN_LIST ARG_LABELS)
    add_dependencies(thread_tests ${NAME})
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)  # for what hangs: the slowest takes a minute on a busy machine
  endif()
  set(main pipetrace_test_main)
  if(ARG_NO_MAIN)
    set(main GTest::gmock)
  endif()
  set(PIPETRACE_COLD "") # all are optimized alike
  set(bytes ${PIPETRACE_TEST_UNIT_BYTES})
  if(ARG_TORCH)
    set(bytes ${PIPETRACE_TORCH_UNIT_BYTES})
  endif()
  pipetrace_units(files ${NAME} ${bytes} ${ARG_SOURCES} ${ARG_ALSO})
  add_executable(${NAME} ${files})
  target_include_directories(${NAME} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${NAME} PRIVATE ${ARG_LINK} ${main} pipetrace_test_folders pipetrace_flags
                                        pipetrace_test_flags)
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
