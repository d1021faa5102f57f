# Which sources a target has, and how they are compiled.
#
# A target takes the sources of its folders, so a new file needs no line in a CMakeLists.txt. Files
# are compiled several at a time (PIPETRACE_UNITE), as reading headers is most of the work for a
# small one. A unit is a file that includes some of them, by names that are the same in every clone.

# Sources of libraries that run once in a command, by path. They are optimized less (-O1), which
# saves a third of their compilation. Everything else runs for each job, message or pixel.
set(PIPETRACE_COLD
    "^apps/" "^samples/" "^tests/"
    "^analysis/(diff|present|run/costs)/"
    "^parser/(foreign/names|paddle)/"
    "^runtime/(checkpoint|engine|session|starting_ranks)/" "^runtime/control/start/" "^runtime/train/optimize/lamb"
    "^schedule/(builders|file|scale)/"
    "^viewer/(commands|export|panels|search|start|window|words)/")

# pipetrace_folder_sources(OUT [PATTERN ...]): the sources of the current folder whose paths from
# there match one of the patterns (all without one), and that no target has yet. Tests, benchmarks,
# fuzzers, helpers of tests and files with a main() are not among them.
function(pipetrace_folder_sources OUT)
  file(GLOB_RECURSE all CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" "*.cpp")
  list(FILTER all EXCLUDE REGEX "_test\\.cpp$|(^|/)(testing|bench|fuzz)/|(^|/)main\\.cpp$")
  pipetrace_untaken(all ${ARGN})
  set(${OUT} ${all} PARENT_SCOPE)
endfunction()

# pipetrace_folder_tests(OUT [PATTERN ...]): likewise, of tests.
function(pipetrace_folder_tests OUT)
  file(GLOB_RECURSE all CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" "*_test.cpp")
  pipetrace_untaken(all ${ARGN})
  set(${OUT} ${all} PARENT_SCOPE)
endfunction()

# Keeps those in the list VAR that match a pattern and that no target has.
function(pipetrace_untaken VAR)
  set(files ${${VAR}})
  if(ARGN)
    list(JOIN ARGN "|" pattern)
    list(FILTER files INCLUDE REGEX "${pattern}")
  endif()
  get_property(taken GLOBAL PROPERTY PIPETRACE_TAKEN)
  set(left "")
  foreach(file IN LISTS files)
    if(NOT "${CMAKE_CURRENT_SOURCE_DIR}/${file}" IN_LIST taken)
      list(APPEND left "${file}")
    endif()
  endforeach()
  set(${VAR} ${left} PARENT_SCOPE)
endfunction()

# pipetrace_take(SOURCE ...): a target has these.
function(pipetrace_take)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE
               OUTPUT_VARIABLE path)
    set_property(GLOBAL APPEND PROPERTY PIPETRACE_TAKEN "${path}")
  endforeach()
endfunction()

# pipetrace_units(OUT TARGET BYTES SOURCE ...): what to compile for a target: its sources, or units
# of about that many bytes of them. Sources stay in their order, those that are optimized less apart.
function(pipetrace_units OUT TARGET BYTES)
  set(hot "")
  set(cold "")
  set(as_they_are "")
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE
               OUTPUT_VARIABLE path)
    cmake_path(IS_PREFIX PROJECT_SOURCE_DIR "${path}" is_ours)
    cmake_path(IS_PREFIX CMAKE_BINARY_DIR "${path}" is_generated)
    if(NOT is_ours OR is_generated OR NOT path MATCHES "\\.cpp$")
      list(APPEND as_they_are "${source}")
      continue()
    endif()
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set(kind hot)
    foreach(pattern IN LISTS PIPETRACE_COLD)
      if(path MATCHES "${pattern}")
        set(kind cold)
      endif()
    endforeach()
    list(APPEND ${kind} "${path}")
  endforeach()

  set(result ${as_they_are})
  foreach(kind IN ITEMS hot cold)
    if(NOT PIPETRACE_UNITE OR (PIPETRACE_APART_IN AND CMAKE_CURRENT_SOURCE_DIR MATCHES
                                                      "^${PROJECT_SOURCE_DIR}/${PIPETRACE_APART_IN}(/|$)"))
      list(TRANSFORM ${kind} PREPEND "${PROJECT_SOURCE_DIR}/" OUTPUT_VARIABLE files)
    else()
      pipetrace_write_units(files "${TARGET}_${kind}" ${BYTES} ${${kind}})
    endif()
    if("${kind}" STREQUAL "cold" AND files)
      set_property(SOURCE ${files} APPEND PROPERTY COMPILE_OPTIONS
                   "$<$<AND:$<CONFIG:RelWithDebInfo>,$<CXX_COMPILER_ID:GNU>>:-O1>")
    endif()
    list(APPEND result ${files})
  endforeach()
  set(${OUT} ${result} PARENT_SCOPE)
endfunction()

# The units of PATH ..., which are from the root. They are about equally large, so that no core
# waits long for the last one.
function(pipetrace_write_units OUT NAME BYTES)
  set(all 0)
  foreach(path IN LISTS ARGN)
    file(SIZE "${PROJECT_SOURCE_DIR}/${path}" size)
    math(EXPR all "${all} + ${size}")
  endforeach()
  math(EXPR units "${all} / ${BYTES} + 1")
  set(files "")
  set(text "")
  set(number 1)
  set(before 0) # bytes of the units up to this one
  foreach(path IN LISTS ARGN ITEMS "")
    if(path)
      string(APPEND text "#include \"${path}\"\n")
      file(SIZE "${PROJECT_SOURCE_DIR}/${path}" size)
      math(EXPR before "${before} + ${size}")
    endif()
    math(EXPR end "${all} * ${number} / ${units}")
    if(text AND (NOT path OR before GREATER_EQUAL end))
      set(file "${CMAKE_CURRENT_BINARY_DIR}/units/${NAME}_${number}.cpp")
      file(CONFIGURE OUTPUT "${file}" CONTENT "${text}" @ONLY)
      list(APPEND files "${file}")
      set(text "")
      math(EXPR number "${number} + 1")
    endif()
  endforeach()
  set(${OUT} ${files} PARENT_SCOPE)
endfunction()

# Headers that every source may have before its own without harm, compiled once. Each source
# includes what it needs all the same (tools/lint.sh).
set(PIPETRACE_COMMON_HEADERS <algorithm> <array> <atomic> <charconv> <deque> <filesystem> <fstream>
                             <functional> <map> <memory> <mutex> <optional> <set> <span> <sstream>
                             <string> <thread> <unordered_map> <variant> <vector>)

# ccache keeps what was compiled, for all clones on this machine: no path of a clone is in what it
# compares. The options are given here, so that nobody has to set them.
option(PIPETRACE_CCACHE "Use ccache where it is installed" ON)
if(PIPETRACE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(PIPETRACE_CCACHE_PROGRAM ccache)
  if(PIPETRACE_CCACHE_PROGRAM)
    set(launcher "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
                 CCACHE_SLOPPINESS=pch_defines,time_macros "${PIPETRACE_CCACHE_PROGRAM}")
    set(CMAKE_CXX_COMPILER_LAUNCHER "${launcher}")
    set(CMAKE_C_COMPILER_LAUNCHER "${launcher}")
  endif()
endif()
